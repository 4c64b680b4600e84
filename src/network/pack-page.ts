import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** Pages as they are sent to browsers that unpack them. */

const pack = promisify(gzip);

/** Whether a browser unpacks what was packed so. */
export function canUnpack({ headers }: Request): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(headers.get("accept-encoding") ?? "");
}

/** By what came from the network a browser says that no other site has asked for it. */
const own: ReadonlySet<string | null> = new Set(["same-origin", "none"]);
/** Less than that fits one packet anyway. */
const leastBytes = 1000;

/**
 * How small a page becomes tells whether what an address brings into it stands there already. So
 * nothing is packed for another site's page, which could have a browser ask again and again.
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
