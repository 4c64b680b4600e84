import { randomFillSync } from "node:crypto";

/**
 * By what one request is known in all log lines that it leads to. Who asks may give it, where it
 * looks like one: it is written into the log and into headers.
 */
export const requestIdHeader = "x-request-id";

const plainId = /^[\w.:-]{8,64}$/;
const idBytes = 12;
/** Drawn for many ids at once. */
const drawn = Buffer.alloc(idBytes * 256);
let next = drawn.length;

export function readRequestId(given: string | null | undefined): string {
  if (given !== undefined && given !== null && plainId.test(given)) return given;
  if (next >= drawn.length) {
    randomFillSync(drawn);
    next = 0;
  }
  return drawn.toString("base64url", next, (next += idBytes));
}
