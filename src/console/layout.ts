import { icon, mark } from "../look/mark.ts";
import { listAssets } from "./assets.ts";
import type { Account } from "./account.ts";
import { html, trust, type Html } from "./html.ts";
import { isThere, type Page, type Visit } from "./page.ts";
import { addToAddress, renderHidden } from "./parts.ts";

/** What all pages have around them: the way to every other page that the key may see. */
export type Shell = {
  readonly title: string;
  readonly body: Html;
  /** Undefined where nobody is signed in. */
  readonly frame: Frame | undefined;
  readonly nonce: string;
  /** Whether pages of links are shown in it. */
  readonly hasFrames?: boolean;
};

type Frame = Pick<Visit, "account" | "url" | "formToken" | "kept" | "isLeft"> & {
  readonly entries: readonly Entry[];
  /** How many approvals wait for the person. */
  readonly waiting: number;
};

type Entry = NonNullable<Page["entry"]> & { readonly isHere: boolean };

/** Those pages that are there for this key, in their order. */
export function listEntries(
  { account, url }: Pick<Visit, "account" | "url">,
  pages: readonly Page[],
): readonly Entry[] {
  return pages.flatMap((page) => {
    const { entry } = page;
    if (entry === undefined || !isThere(page, account)) return [];
    const { address } = entry;
    const isHere = url.pathname === address || url.pathname.startsWith(`${address}/`);
    return [{ ...entry, isHere }];
  });
}

export function renderShell({ title, body, frame, nonce, hasFrames = false }: Shell): Html {
  const { styles, scripts } = listAssets(hasFrames);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <link rel="icon" href="${icon}" />
        <title>${renderTitleCount(frame)}${title} – Waypost</title>
        ${styles.map(
          (address) => html`<link rel="stylesheet" nonce="${nonce}" href="${address}" />`,
        )}
        ${scripts.map((address) => html`<script nonce="${nonce}" src="${address}" defer></script>`)}
      </head>
      <body>
        ${frame === undefined ? renderAlone(body) : renderFramed(body, frame)}
      </body>
    </html> `;
}

function renderAlone(body: Html): Html {
  return html`<div class="alone">
    <header><p class="brand">${trust(mark)} Waypost</p></header>
    <main class="card">${body}</main>
  </div>`;
}

function renderFramed(body: Html, frame: Frame): Html {
  const { account, entries, formToken } = frame;
  return html`<a class="skip" href="#main">Skip to content</a>
    <div class="shell">
      <header class="rail">
        <a class="brand" href="/">${trust(mark)} Waypost</a>
        ${renderWaits(frame.waiting)}
        <button type="button" class="opener" popovertarget="menu">
          ${drawIcon("M2.5 4.5h11M2.5 8h11M2.5 11.5h11")} Menu
        </button>
        <div class="menu" id="menu" popover>
          ${renderPlace(account)}
          <nav aria-label="Pages">${listGroups(entries).map(renderGroup)}</nav>
          <form method="post" action="/sign-out">
            ${renderHidden("form_token", formToken)}
            <button class="quiet">Sign out</button>
          </form>
        </div>
      </header>
      <main id="main" tabindex="-1">${renderAgain(frame)} ${body}</main>
    </div>`;
}

function renderTitleCount(frame: Frame | undefined): string {
  return frame === undefined || frame.waiting === 0 ? "" : `(${frame.waiting}) `;
}

/** In view on every page, also where the menu is closed. */
function renderWaits(waiting: number): Html {
  const link = html`<a href="/"
    >${waiting} waiting<span class="hidden"> for your approval</span></a
  >`;
  return html`<p id="waits" class="waits">${waiting === 0 ? "" : link}</p>`;
}

const notSent = "again";

/** The address to which a form of an earlier session leads. */
export function markNotSent(to: string): string {
  return addToAddress(to, notSent, "1");
}

/** What a form of an earlier session holds is shown by the pages that can; none has acted on it. */
function renderAgain({ kept, url, isLeft = false }: Frame): Html | string {
  if (isLeft) {
    return html`<p class="note" role="status">
      ${
        url.pathname === "/links/new"
          ? "Nothing was created. Your entries are still here."
          : "You cancelled. Your entries are still here."
      }
    </p>`;
  }
  if (kept === undefined && !url.searchParams.has(notSent)) return "";
  return html`<p class="note" role="status">
    You are signed in again. Nothing has been done yet. Check this page, then press the button
    again.
  </p>`;
}

function renderPlace({ projectName, host }: Account): Html | string {
  if (projectName === undefined && host === undefined) return "";
  return html`<p class="where">
    <strong dir="auto">${projectName ?? ""}</strong>
    <span>${host?.replace(/^https?:\/\//, "") ?? ""}</span>
  </p>`;
}

type Group = { readonly name: Entry["group"]; readonly entries: readonly Entry[] };

/** Those that stand together, in the order of their first ones. */
function listGroups(entries: readonly Entry[]): readonly Group[] {
  const names = [...new Set(entries.map(({ group }) => group))];
  return names.map((name) => ({ name, entries: entries.filter(({ group }) => group === name) }));
}

function renderGroup({ name, entries }: Group): Html {
  if (name === undefined) {
    return html`<ul>
      ${entries.map(renderEntry)}
    </ul>`;
  }
  const id = `menu-${name.toLowerCase()}`;
  return html`<div>
    <p id="${id}">${name}</p>
    <ul aria-labelledby="${id}">
      ${entries.map(renderEntry)}
    </ul>
  </div>`;
}

function renderEntry({ name, address, icon: path, isHere }: Entry): Html {
  const here = isHere ? html` aria-current="page"` : "";
  return html`<li><a href="${address}" ${here}>${drawIcon(path)}${name}</a></li>`;
}

function drawIcon(path: string): Html {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="${path}" /></svg>`;
}
