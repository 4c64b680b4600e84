import { randomBytes } from "node:crypto";

/**
 * Identifies a request in all of its log lines. Callers may send a short, plain id of their own.
 */
export const requestIdHeader = "x-request-id";

const plainId = /^[\w.:-]{8,64}$/;
/** Ids have a random prefix per process and a counter. Random ids would take far longer. */
const own = randomBytes(9).toString("base64url");
let count = 0;

export function readRequestId(header: string | null | undefined): string {
  if (header !== undefined && header !== null && plainId.test(header)) return header;
  count += 1;
  return `${own}-${count.toString(36)}`;
}

const traceparent = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** Reads the caller's W3C trace context for the log; undefined if it is invalid. */
export function readTraceparent(given: unknown): string | undefined {
  return typeof given === "string" && traceparent.test(given) ? given : undefined;
}
