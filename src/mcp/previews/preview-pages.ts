import type { Previews } from "../access/saved-previews.ts";
import { renderNotice, servePage, showPage } from "../approval/page-shell.ts";

/**
 * A link's page as it would be, for a person to look at in a browser. Its HTML is a stranger's: it
 * has no origin, reaches no server by itself, is in no frame, and none of its links leads anywhere.
 */

export type PreviewPages = { readonly fetch: (request: Request) => Promise<Response> };

type Options = {
  readonly openPreviews: () => Promise<Pick<Previews, "find">>;
  readonly hostnames: readonly string[];
  readonly report: (error: unknown) => string;
};

export const previewPath = "/preview/";

const methods: readonly string[] = ["GET", "HEAD"];

const headers: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    // Without an origin, popups, forms and the whole window.
    "sandbox allow-scripts",
    "default-src 'none'",
    // A deployment elsewhere names its own files by whole addresses (api-spec.md, "preview").
    "script-src 'unsafe-inline' https: http:",
    "style-src 'unsafe-inline' https: http:",
    "img-src data: https: http:",
    "font-src data: https: http:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "x-robots-tag": "noindex",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
};

export function createPreviewPages(options: Options): PreviewPages {
  const serving = { ...options, methods };
  return { fetch: (request) => servePage(request, serving, () => answer(request, options)) };
}

async function answer(request: Request, { openPreviews }: Options): Promise<Response> {
  const { pathname } = new URL(request.url);
  const previews = await openPreviews();
  const html = await previews.find(pathname.slice(previewPath.length));
  return html === undefined ? showPage(404, over) : new Response(disarmLinks(html), { headers });
}

const doctype = /^\s*<!doctype[^>]*>/i;

/** Each link opens a window of its own then, and to open one is not allowed. */
function disarmLinks(html: string): string {
  const [start = ""] = doctype.exec(html) ?? [];
  return `${start}<base target="_blank">${html.slice(start.length)}`;
}

const over = renderNotice(
  "This preview has expired",
  "A preview is available for ten minutes. Ask your assistant for a new one.",
);
