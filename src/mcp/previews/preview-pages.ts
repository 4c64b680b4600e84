import { createHash, randomBytes } from "node:crypto";
import type { ExpiringValues } from "../../state/expiring-values.ts";
import { renderNotice, servePage, showPage } from "../approval/page-shell.ts";

/**
 * Serves previews of a link's page to a user's browser. The HTML is untrusted, so it runs in a
 * sandbox without an origin and cannot be framed. Its links and forms do nothing.
 */

export type PreviewPages = { readonly fetch: (request: Request) => Promise<Response> };

type PreviewPageOptions = {
  readonly openPreviews: () => Promise<Pick<Previews, "find">>;
  readonly hostnames: readonly string[];
  readonly report: (error: unknown) => string;
};

export const previewPath = "/preview/";

const methods: readonly string[] = ["GET", "HEAD"];

const headers: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    // Allows scripts. Blocks access to this server's origin, popups, forms and navigation.
    "sandbox allow-scripts",
    "default-src 'none'",
    // Pages of a remote server load their files from absolute URLs.
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

export function createPreviewPages(options: PreviewPageOptions): PreviewPages {
  const serving = { ...options, methods };
  return { fetch: (request) => servePage(request, serving, () => answer(request, options)) };
}

async function answer(request: Request, { openPreviews }: PreviewPageOptions): Promise<Response> {
  const { pathname } = new URL(request.url);
  const previews = await openPreviews();
  const html = await previews.find(pathname.slice(previewPath.length));
  return html === undefined ? showPage(404, over) : new Response(disarmLinks(html), { headers });
}

const doctype = /^\s*<!doctype[^>]*>/i;

/** Makes each link open a new window, which the sandbox blocks. */
function disarmLinks(html: string): string {
  const [start = ""] = doctype.exec(html) ?? [];
  return `${start}<base target="_blank">${html.slice(start.length)}`;
}

const over = renderNotice(
  "This preview has expired",
  "A preview is available for ten minutes. Ask your assistant for a new one.",
);

/** Stores preview pages for a short time, so that a user can open them. */
export type Previews = {
  /** Stores a page and returns the token for its URL. Returns undefined if the page is too long. */
  readonly save: (owner: string, html: string) => Promise<string | undefined>;
  readonly find: (token: string) => Promise<string | undefined>;
};

const mostBytes = 1024 * 1024;

const tokenBytes = 16;

export function createPreviews(kept: ExpiringValues): Previews {
  return {
    save: async (owner, html) => {
      if (Buffer.byteLength(html) > mostBytes) return undefined;
      const token = randomBytes(tokenBytes).toString("base64url");
      await kept.save("preview", hash(token), html, { owner });
      return token;
    },
    find: async (token) => (await kept.find("preview", hash(token)))?.value,
  };
}

function hash(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
