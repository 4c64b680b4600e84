import { randomBytes } from "node:crypto";

/**
 * The header with a request's ID. All log lines of the request contain the ID. Callers may send a
 * short, plain ID of their own.
 */
export const requestIdHeader = "x-request-id";

const plainId = /^[\w.:-]{8,64}$/;
/**
 * An ID consists of a random prefix per process and a counter. A random ID per request would be far
 * slower.
 */
const own = randomBytes(9).toString("base64url");
let count = 0;

export function readRequestId(header: string | null | undefined): string {
  if (header !== undefined && header !== null && plainId.test(header)) return header;
  count += 1;
  return `${own}-${count.toString(36)}`;
}

const traceparent = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** Reads the caller's W3C trace context, for the log. Returns undefined if it is invalid. */
export function readTraceparent(given: unknown): string | undefined {
  return typeof given === "string" && traceparent.test(given) ? given : undefined;
}
