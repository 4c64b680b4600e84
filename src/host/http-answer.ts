/** Builds the responses of the link host, with the headers that most of them need. */

/** A response of the link host. */
export type HostAnswer = {
  readonly status: number;
  /** Alternating names and values, because Node sends such a list without copying it. */
  readonly headers: string[];
  readonly body: string | Uint8Array;
};

export type HostHeaders = Readonly<Record<string, string>>;

/**
 * The headers of pages for paths without a link. Not cached, because the link may be created soon.
 */
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
 * The headers of responses to visits. They are not cached, because the link may change before the
 * next visit. The response depends on the device.
 */
export const uncached = { "cache-control": "private, no-store", vary: "user-agent" } as const;

export const redirectHeaders = {
  "cache-control": "private, no-store",
  // The default of browsers: the destination gets only the origin of the referring page.
  "referrer-policy": "strict-origin-when-cross-origin",
  "x-robots-tag": "noindex",
} as const;

export function makeAnswer(
  status: number,
  headers: HostHeaders,
  body: HostAnswer["body"] = "",
): HostAnswer {
  // Responses with these statuses have no body, not even an empty one.
  const hasBody = status !== 204 && status !== 304;
  const length = hasBody && { "content-length": String(Buffer.byteLength(body)) };
  const all = { ...headers, ...length };
  return { status, headers: Object.entries(all).flat(), body };
}
