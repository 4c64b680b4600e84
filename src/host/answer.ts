import type { ServerResponse } from "node:http";

/** What goes back to a visitor. */
export type Answer = {
  readonly status: number;
  /** Names and values in turns: Node writes them as they stand. */
  readonly headers: string[];
  readonly body: string | Uint8Array;
};

export type Headers = Readonly<Record<string, string>>;

export function makeAnswer(
  status: number,
  headers: Headers,
  body: string | Uint8Array = "",
): Answer {
  // These two have no body, not even an empty one.
  const isBare = status === 204 || status === 304;
  const length = { "content-length": String(Buffer.byteLength(body)) };
  const all = isBare ? headers : { ...headers, ...length };
  return { status, headers: Object.entries(all).flat(), body };
}

/** To a HEAD request Node sends the headers alone. */
export function sendAnswer(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers).end(body);
}
