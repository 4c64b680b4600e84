import { readContent } from "../../src/client/carriers.ts";
import type { Send } from "../../src/client/send-once.ts";

/** A deployment that a test writes as a function of the platform's own Request and Response. */
export type Fetch = (request: Request, signal: AbortSignal) => Promise<Response>;

export function sendByFetch(fetch: Fetch): Send {
  return async ({ url, method, headers, body }, readSignal) => {
    const content = body === undefined ? {} : { body };
    const request = new Request(url, { method, headers, ...content });
    const response = await fetch(request, readSignal());
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      readBody: async (form) =>
        readContent(await response.text(), form, response.headers.get("content-type")),
      discard: () => void response.body?.cancel(),
    };
  };
}
