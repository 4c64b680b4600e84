import { randomBytes } from "node:crypto";

/**
 * By what one request is known in all log lines that it leads to. Who asks may give it, where it
 * looks like one: it is written into the log and into headers.
 */
export const requestIdHeader = "x-request-id";

const plainId = /^[\w.:-]{8,64}$/;
/** Of this process; behind it the requests are counted, for to draw each id costs far more. */
const own = randomBytes(9).toString("base64url");
let count = 0;

export function readRequestId(given: string | null | undefined): string {
  if (given !== undefined && given !== null && plainId.test(given)) return given;
  count += 1;
  return `${own}-${count.toString(36)}`;
}
