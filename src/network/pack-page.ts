import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** Compresses pages for browsers. */

const pack = promisify(gzip);

export function canUnpack({ headers }: Request): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(headers.get("accept-encoding") ?? "");
}

/** The `sec-fetch-site` values of requests that no other site caused. */
const own: ReadonlySet<string | null> = new Set(["same-origin", "none"]);
/** Smaller pages fit into one packet without compression. */
const leastBytes = 1000;

/**
 * Compresses a page, unless another site caused the request. The size of a compressed page reveals
 * whether text from its URL also occurs in the page. With many requests, another site could guess
 * secrets.
 */
export async function packPage(response: Response, request: Request): Promise<Response> {
  const isPage = response.headers.get("content-type")?.startsWith("text/html") === true;
  const isOwn = own.has(request.headers.get("sec-fetch-site"));
  if (!isPage || !isOwn || !canUnpack(request)) return response;
  const whole = new Uint8Array(await response.arrayBuffer());
  const { status } = response;
  const headers = new Headers(response.headers);
  if (whole.byteLength < leastBytes) return new Response(whole, { status, headers });
  headers.set("content-encoding", "gzip");
  return new Response(await pack(whole), { status, headers });
}
