import { scriptAddress, styleAddress } from "./assets.ts";
import type { Account } from "./account.ts";
import { html, type Html } from "./html.ts";
import type { Page, Visit } from "./page.ts";
import { renderHidden } from "./parts.ts";

/** What all pages have around them: the way to every other page that the key may see. */
export type Shell = {
  readonly title: string;
  readonly body: Html;
  /** Undefined where nobody is signed in. */
  readonly frame: Frame | undefined;
  readonly nonce: string;
};

type Frame = Pick<Visit, "account" | "url" | "formToken"> & { readonly entries: readonly Entry[] };

type Entry = NonNullable<Page["entry"]> & { readonly isHere: boolean };

/** Those pages that are there for this key, in their order. */
export function listEntries(
  { account, url }: Pick<Visit, "account" | "url">,
  pages: readonly Page[],
): readonly Entry[] {
  return pages.flatMap(({ entry, needs }) => {
    if (entry === undefined || (needs !== undefined && !account.mayUse(needs))) return [];
    const { address } = entry;
    const isHere = url.pathname === address || url.pathname.startsWith(`${address}/`);
    return [{ ...entry, isHere }];
  });
}

export function renderShell({ title, body, frame, nonce }: Shell): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <link rel="icon" href="${icon}" />
        <title>${title} – Waypost</title>
        <link rel="stylesheet" nonce="${nonce}" href="${styleAddress}" />
        <script nonce="${nonce}" src="${scriptAddress}" defer></script>
      </head>
      <body>
        ${frame === undefined ? renderAlone(body) : renderFramed(body, frame)}
      </body>
    </html> `;
}

/** The mark, as a picture that needs no request. */
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E" +
  "%3Crect width='16' height='16' rx='4' fill='%234b45d6'/%3E%3Cpath d='M4 4.5h6l2 2-2 2H4z" +
  "M7.2 8.5v4' fill='%23fff' stroke='%23fff' stroke-width='1.4'/%3E%3C/svg%3E";

function renderAlone(body: Html): Html {
  return html`<div class="alone">
    <header><p class="brand">${mark} Waypost</p></header>
    <main class="card">${body}</main>
  </div>`;
}

function renderFramed(body: Html, { account, entries, formToken }: Frame): Html {
  return html`<a class="skip" href="#main">Skip to content</a>
    <div class="shell">
      <header class="rail">
        <a class="brand" href="/">${mark} Waypost</a>
        ${renderPlace(account)}
        <nav aria-label="Pages">
          <ul>
            ${entries.map(renderEntry)}
          </ul>
        </nav>
        <form method="post" action="/sign-out">
          ${renderHidden("form_token", formToken)}
          <button class="quiet">Sign out</button>
        </form>
      </header>
      <main id="main" tabindex="-1">${body}</main>
    </div>`;
}

function renderPlace({ projectName, host }: Account): Html | string {
  if (projectName === undefined && host === undefined) return "";
  return html`<p class="where">
    <strong dir="auto">${projectName ?? ""}</strong>
    <span>${host?.replace(/^https?:\/\//, "") ?? ""}</span>
  </p>`;
}

function renderEntry({ name, address, icon: path, isHere }: Entry): Html {
  const here = isHere ? html` aria-current="page"` : "";
  return html`<li><a href="${address}" ${here}>${drawIcon(path)}${name}</a></li>`;
}

/** Strokes on a square of 16. */
function drawIcon(path: string): Html {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="${path}" /></svg>`;
}

const mark = html`<svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
  <rect width="16" height="16" rx="4" />
  <path d="M4 4.5h6l2 2-2 2H4zM7.2 8.5v4" />
</svg>`;
