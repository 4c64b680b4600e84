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

export const asText = {
  "content-type": "text/plain; charset=utf-8",
  "x-content-type-options": "nosniff",
} as const;

/**
 * Of a visit: before the next one the link may change or go, and another device gets another
 * answer.
 */
export const uncached = { "cache-control": "private, no-store", vary: "user-agent" } as const;

export const redirectHeaders = {
  "cache-control": "private, no-store",
  // What browsers do by themselves: the destination learns from which site people came, no more.
  "referrer-policy": "strict-origin-when-cross-origin",
  "x-robots-tag": "noindex",
} as const;

export function makeAnswer(status: number, headers: Headers, body: Answer["body"] = ""): Answer {
  // These two have no body, not even an empty one.
  const hasBody = status !== 204 && status !== 304;
  const length = hasBody && { "content-length": String(Buffer.byteLength(body)) };
  const all = { ...headers, ...length };
  return { status, headers: Object.entries(all).flat(), body };
}
