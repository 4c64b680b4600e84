import { showHidden } from "../text/show-hidden.ts";
import { icon, mark } from "../look/mark.ts";
import { listAssets } from "./assets.ts";
import { html, trust, type Html, type Part } from "./html.ts";
import { isAvailable, type Page, type PageReply, type PageRequest } from "./page.ts";
import { addToAddress, renderFault, renderForm, showHost } from "./parts.ts";

/** Renders the frame of every console page, such as the menu and the heading. */

export type Shell = Omit<PageReply, "kind"> & {
  /** Undefined for a signed-out visitor. */
  readonly frame: PageFrame | undefined;
  readonly nonce: string;
};

type PageFrame = PageRequest & {
  readonly base: string;
  readonly entries: readonly MenuEntry[];
  readonly waiting: number;
};

type MenuEntry = NonNullable<Page["entry"]> & { readonly isCurrent: boolean };

/** Lists the menu entries of the pages that the key may see. */
export function listEntries(
  { account, url }: Pick<PageRequest, "account" | "url">,
  pages: readonly Page[],
): readonly MenuEntry[] {
  return pages.flatMap((page) => {
    const { entry } = page;
    if (entry === undefined || !isAvailable(page, account)) return [];
    const { address } = entry;
    const isCurrent = url.pathname === address || url.pathname.startsWith(`${address}/`);
    return [{ ...entry, isCurrent }];
  });
}

export function renderShell(shell: Shell): Html {
  const { title, body, frame, nonce, hasFrames = false } = shell;
  const styles = listAssets("css", hasFrames);
  const scripts = listAssets("js", hasFrames);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <link rel="icon" href="${icon}" />
        <title>${frame && frame.waiting > 0 && `(${frame.waiting}) `}${title} – Waypost</title>
        ${styles.map(
          (address) => html`<link rel="stylesheet" nonce="${nonce}" href="${address}" />`,
        )}
        ${scripts.map((address) => html`<script nonce="${nonce}" src="${address}" defer></script>`)}
      </head>
      <body>
        ${frame === undefined ? renderSignedOut(body) : renderFramed(shell, frame)}
      </body>
    </html> `;
}

function renderSignedOut(body: Part): Html {
  return html`<div class="alone">
    <header><p class="brand">${trust(mark)} Waypost</p></header>
    <main class="card">${body}</main>
  </div>`;
}

function renderFramed(page: Omit<PageReply, "kind">, frame: PageFrame): Html {
  const faults = [page.fault].flat();
  return html`<a class="skip" href="#main">Skip to content</a>
    <div class="shell">
      <header class="rail">
        <a class="brand" href="/">${trust(mark)} Waypost</a>
        ${renderWaits(frame.waiting)}
        <button type="button" class="opener" popovertarget="menu">
          ${drawIcon("M2.5 4.5h11M2.5 8h11M2.5 11.5h11")} Menu
        </button>
        <div class="menu" id="menu" popover>
          ${renderPlace(frame)}
          <nav aria-label="Pages">${listGroups(frame.entries).map(renderGroup)}</nav>
          ${renderForm(frame, "/sign-out", html`<button class="quiet">Sign out</button>`, html``)}
        </div>
      </header>
      <main id="main" tabindex="-1">
        ${renderAgain(frame)} ${renderHead(page)} ${renderNote(frame.url)}
        ${faults.map(renderFault)} ${page.body}
      </main>
    </div>`;
}

/** Renders the number of pending approvals outside of the menu, so that it is always visible. */
function renderWaits(waiting: number): Html {
  const link = html`<a href="/"
    >${waiting} waiting<span class="hidden"> for your approval</span></a
  >`;
  return html`<p id="waits" class="waits">${waiting > 0 && link}</p>`;
}

function renderHead({ title, heading = title, above, actions }: Omit<PageReply, "kind">): Part {
  if (heading === "") return "";
  const text = html`<h1 dir="auto">${showHidden(heading)}</h1>`;
  const crumbs = above && html`<p class="crumbs"><a href="${above.address}">${above.name}</a></p>`;
  return html`<div class="head">
    ${crumbs === undefined ? text : html`<div>${crumbs} ${text}</div>`} ${actions}
  </div>`;
}

/** Success messages by code. After a form is submitted, the next page's URL contains the code. */
const notes: Readonly<Record<string, Html | string>> = {
  created: "Link created.",
  saved: "Saved.",
  deleted: html`Deleted. You can restore it from <a href="/history">History</a> for 30 days.`,
  restored: "Restored.",
  undone: "Undone.",
  unchanged: "Nothing changed.",
  registered: "App registered.",
  revoked: "Key revoked.",
  webhook_tested: "The receiver accepted the test.",
  webhook_resent: "The failed events will be sent again soon.",
  webhook_revoked: "Webhook revoked.",
  founded: "Project created. Create its first key in the CLI, as shown below.",
  closed: "Project deleted.",
  published: "Published. All links show this page.",
  taken_down: "Unpublished. Links show the default page.",
};

function renderNote({ searchParams }: URL): Part {
  const done = searchParams.get("done") ?? "";
  return Object.hasOwn(notes, done) && html`<p class="note good" role="status">${notes[done]}</p>`;
}

const notSent = "again";

/** Makes the next page say that the submitted form has changed nothing yet. */
export function markNotSent(to: string): string {
  return addToAddress(to, notSent, "1");
}

function renderAgain({ kept, url, isLeft = false }: PageFrame): Part {
  const cancelled = url.pathname === "/links/new" ? "Nothing was created." : "You cancelled.";
  if (isLeft) {
    return html`<p class="note" role="status">${cancelled} Your entries are still here.</p>`;
  }
  if (kept === undefined && !url.searchParams.has(notSent)) return "";
  return html`<p class="note" role="status">
    You are signed in again. Nothing has been done yet. Check this page, then press the button
    again.
  </p>`;
}

function renderPlace({ account: { projectName, host } }: PageFrame): Part {
  if (projectName === undefined && host === undefined) return "";
  return html`<p class="where">
    <strong dir="auto">${projectName}</strong>
    <span>${showHost(host)}</span>
  </p>`;
}

type MenuGroup = { readonly name: MenuEntry["group"]; readonly entries: readonly MenuEntry[] };

function listGroups(entries: readonly MenuEntry[]): readonly MenuGroup[] {
  const names = [...new Set(entries.map(({ group }) => group))];
  return names.map((name) => ({ name, entries: entries.filter(({ group }) => group === name) }));
}

function renderGroup({ name, entries }: MenuGroup): Html {
  const list = html`<ul ${name && html` aria-label="${name}"`}>
    ${entries.map(renderEntry)}
  </ul>`;
  return name === undefined
    ? list
    : html`<div>
        <p>${name}</p>
        ${list}
      </div>`;
}

function renderEntry({ name, address, icon: path, isCurrent }: MenuEntry): Html {
  const here = isCurrent && html` aria-current="page"`;
  return html`<li><a href="${address}" ${here}>${drawIcon(path)}${name}</a></li>`;
}

function drawIcon(path: string): Html {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="${path}" /></svg>`;
}
