import { randomBytes } from "node:crypto";

/**
 * The id of a request in all of its log lines. Callers may send one in a header, if it is short and
 * plain, because it is written into logs and headers.
 */
export const requestIdHeader = "x-request-id";

const plainId = /^[\w.:-]{8,64}$/;
/** The ids of this process: one random text with a counter. Random ids would cost far more. */
const own = randomBytes(9).toString("base64url");
let count = 0;

export function readRequestId(given: string | null | undefined): string {
  if (given !== undefined && given !== null && plainId.test(given)) return given;
  count += 1;
  return `${own}-${count.toString(36)}`;
}
