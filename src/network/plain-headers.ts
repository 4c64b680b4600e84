import type { IncomingMessage } from "node:http";

/** Undefined where one came twice, of which Node may drop one. */
export function readPlainHeaders({
  headers,
  rawHeaders,
}: Pick<IncomingMessage, "headers" | "rawHeaders">): PlainHeaders | undefined {
  let count = 0;
  for (const name in headers) {
    if (typeof headers[name] !== "string") return undefined;
    count += 2;
  }
  // Each of them was found to be a text.
  return count === rawHeaders.length ? (headers as PlainHeaders) : undefined;
}

export type PlainHeaders = Readonly<Record<string, string>>;
