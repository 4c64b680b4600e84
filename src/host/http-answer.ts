import type { ServerResponse } from "node:http";

/** What is sent back to a visitor. */
export type Answer = {
  readonly status: number;
  /** Each name is followed by its value: Node writes such a list as it is. */
  readonly headers: string[];
  readonly body: string | Uint8Array;
};

export type Headers = Readonly<Record<string, string>>;

/** Of a page of ours that has no link's content; a link that is made a moment from now works. */
export const quietHeaders = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "private, no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-robots-tag": "noindex",
} as const;

export function makeAnswer(status: number, headers: Headers, body: Answer["body"] = ""): Answer {
  // These two have no body, not even an empty one.
  const hasBody = status !== 204 && status !== 304;
  const length = hasBody && { "content-length": String(Buffer.byteLength(body)) };
  const all = { ...headers, ...length };
  return { status, headers: Object.entries(all).flat(), body };
}

/** To a HEAD request Node sends the headers alone. */
export function sendAnswer(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers).end(body);
}
