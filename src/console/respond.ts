import { randomBytes } from "node:crypto";
import { addBase } from "./base-path.ts";
import { html, type Part } from "./html.ts";
import { renderShell, type Shell } from "./layout.ts";

/** Builds responses. Their content security policy allows only the console's own files. */

const shared: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  // Without a referrer, browsers submit forms with the origin `null`.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "x-frame-options": "DENY",
  "x-robots-tag": "noindex",
};

type Headers = readonly (readonly [name: string, value: string])[];

export function respondPage(
  status: number,
  page: Omit<Shell, "nonce">,
  more: Headers = [],
): Response {
  const nonce = randomBytes(16).toString("base64");
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    // Console pages may frame only previews, which `respondFrame` sends.
    ...(page.hasFrames === true ? ["frame-src 'self'"] : []),
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");
  const headers = [
    ["content-type", "text/html; charset=utf-8"] as const,
    ["content-security-policy", policy] as const,
    ...more,
  ];
  const markup = String(renderShell({ ...page, nonce }));
  const { frame } = page;
  const body = frame === undefined ? markup : addBase(markup, frame.base);
  return respond(body, { status, headers });
}

/** Responds with a short message, without the menu. */
export function respondText(
  status: number,
  title: string,
  text: Part,
  headers: Headers = [],
): Response {
  const body = html`<h1>${title}</h1>
    <p>${text}</p>`;
  return respondPage(status, { title, body, frame: undefined }, headers);
}

export function respondGo(to: string, more: Headers = []): Response {
  return respond(null, { status: 303, headers: [["location", to], ...more] });
}

export function respondFile(type: string, bytes: string | Uint8Array, more: Headers): Response {
  const policy = ["content-security-policy", "default-src 'none'; sandbox"] as const;
  return respond(bytes, { status: 200, headers: [["content-type", type], policy, ...more] });
}

/**
 * The content security policy for untrusted HTML in a frame. It blocks scripts, forms, windows and
 * links, even if the page is opened outside a frame.
 */
const framePolicy = ["sandbox", "default-src 'none'"];
/** What a preview may load if this process rendered it: inline styles and images. */
const ownSources = ["style-src 'unsafe-inline'", "img-src data: https:"];
/** What a preview from a remote server may load. Its files have absolute URLs. */
const foreignSources = [
  "style-src 'unsafe-inline' https: http:",
  "img-src data: https: http:",
  "font-src data: https: http:",
];

export function respondFrame(markup: string, isOwn: boolean, more: Headers): Response {
  const policy = [
    ...framePolicy,
    ...(isOwn ? ownSources : foreignSources),
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join("; ");
  const headers = [
    ["content-type", "text/html; charset=utf-8"] as const,
    ["content-security-policy", policy] as const,
    ["x-frame-options", "SAMEORIGIN"] as const,
    ["referrer-policy", "no-referrer"] as const,
    ...more,
  ];
  return respond(markup, { status: 200, headers });
}

function respond(
  body: string | Uint8Array | null,
  { status, headers }: { readonly status: number; readonly headers: Headers },
): Response {
  const all = new Headers(shared);
  for (const [name, value] of headers) {
    if (name === "set-cookie") all.append(name, value);
    else all.set(name, value);
  }
  return new Response(body, { status, headers: all });
}
