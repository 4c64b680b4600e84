import { showHidden } from "../text/show-hidden.ts";
import type { JsonObject } from "../contract/json.ts";
import { html, type Html } from "./html.ts";
import type { Reply, Visit } from "./page.ts";
import { readRecord, readText } from "./read.ts";

/** Pieces that several pages have. */

const back = html`Deleted. You can restore it from <a href="/history">History</a> for 30 days.`;

/** What the form before has done. */
const notes: Readonly<Record<string, Html | string>> = {
  created: "Link created.",
  saved: "Saved.",
  deleted: back,
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

export function renderNote({ searchParams }: URL): Html | string {
  const text = notes[searchParams.get("done") ?? ""];
  return text === undefined ? "" : html`<p class="note good" role="status">${text}</p>`;
}

/** Where the plan that a tool has made is read and applied. */
export function goToPlan(result: JsonObject): Reply {
  const id = readText(readRecord(result, "plan"), "id");
  return { kind: "go", to: `/plans/${encodeURIComponent(id)}` };
}

/** An address whose page tells what was done. */
export function tellDone(address: string, done: string): string {
  return addToAddress(address, "done", done);
}

export function addToAddress(address: string, name: string, value: string): string {
  return `${address}${address.includes("?") ? "&" : "?"}${name}=${value}`;
}

/** Why something was not done; nothing where it was. */
export function renderFault(text: string | undefined): Html | string {
  return text === undefined || text === "" ? "" : html`<p class="fault" role="alert">${text}</p>`;
}

type Missing = { readonly thing: string; readonly why: string };

/** Shown in place of something that does not exist, with a link to the list of its kind. */
export function showMissing({ thing, why }: Missing, { name, address }: Above): Reply {
  const body = html`<h1>This ${thing} does not exist</h1>
    <p class="soft">${why}</p>
    <p><a class="button" href="${address}">View all ${name.toLowerCase()}</a></p>`;
  return { kind: "page", status: 404, title: "Not found", body };
}

/** Shown in place of something that exists but cannot be read right now. */
export function showUnread(title: string, above: Above, fault: string): Reply {
  const body = html`${renderHead(title, above)} ${renderFault(fault)}`;
  return { kind: "page", title, body, status: 503 };
}

/** The page above, such as a list. */
export type Above = { readonly name: string; readonly address: string };

/** Above a page that lies below another one. */
export function renderHead(title: string, above: Above, beside: Html | string = ""): Html {
  return html`<div class="head">
    <div>
      <p class="crumbs"><a href="${above.address}">${above.name}</a></p>
      <h1 dir="auto">${showHidden(title)}</h1>
    </div>
    ${beside}
  </div>`;
}

/** A list of names and their values. */
export function renderFacts(
  facts: readonly (readonly [name: string, text: unknown])[],
  look = "facts",
): Html {
  return html`<dl class="${look}">
    ${facts.map(
      ([name, text]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${text}</dd>
        </div>`,
    )}
  </dl>`;
}

/** A button that is a form of its own, because it changes something. */
export function renderPost(
  { formToken }: Pick<Visit, "formToken">,
  address: string,
  button: Html,
  hidden: Readonly<Record<string, string>> = {},
): Html {
  return html`<form method="post" action="${address}">
    ${renderHidden("form_token", formToken)}
    ${Object.entries(hidden).map(([name, value]) => renderHidden(name, value))} ${button}
  </form>`;
}

type Secret = {
  readonly title: string;
  /** The name of the card around it. */
  readonly label: string;
  readonly lead: string;
  readonly id: string;
  readonly secret: string;
  readonly facts: readonly (readonly [name: string, text: unknown])[];
  readonly list: Above;
};

/** Shown once: a secret is in no address and on no stored page. */
export function showSecret({ title, label, lead, id, secret, facts, list }: Secret): Reply {
  const body = html`${renderHead(title, list)}
    <section class="card narrow" aria-label="${label}">
      <div class="inside">
        <p class="note good" role="status">${lead}</p>
        <div data-once>${renderCopy(secret, id, `Copy the ${id === "token" ? "key" : id}`)}</div>
        ${renderFacts(facts)}
        <div class="buttons">
          <a class="button main" href="${list.address}">I have copied it</a>
        </div>
      </div>
    </section>`;
  return { kind: "page", title, body };
}

/** The answer to a form that was sent again after it had created something. */
export function showMadeBefore(title: string, message: string, list: Above): Reply {
  const body = html`${renderHead(title, list)}
    <p>${message}</p>
    <p><a class="button" href="${list.address}">View all ${list.name.toLowerCase()}</a></p>`;
  return { kind: "page", title, body, status: 409 };
}

type Column = {
  readonly name: string;
  readonly look?: string;
  /** In place of the name. */
  readonly head?: Html;
};

export function renderTable(
  caption: string,
  columns: readonly Column[],
  rows: readonly Html[],
): Html {
  const heads = columns.map(({ name, look, head = name }) => {
    const styled = look === undefined ? "" : html` class="${look}"`;
    return html`<th scope="col" ${styled}>${head}</th>`;
  });
  return html`<table>
    <caption class="hidden">
      ${caption}
    </caption>
    <thead>
      <tr>
        ${heads}
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}

/** With what else there is to know of it; `isFirst` where nothing is typed before it. */
export function renderPin(hint: string, isFirst = false): Html {
  const focus = isFirst ? html` autofocus` : "";
  return html`<div class="field">
    <label for="pin">PIN</label>
    <input
      id="pin"
      name="pin"
      type="password"
      autocomplete="off"
      required
      ${focus}
      aria-describedby="pin-hint"
    />
    <p class="hint" id="pin-hint">Enter the PIN that this server's operator set. ${hint}</p>
  </div>`;
}

/** Whoever types it has seen that they are many. */
export function renderCount(count: number): Html {
  return html`<div class="field">
    <label for="count">Type ${count}, the number of links</label>
    <input id="count" name="count" inputmode="numeric" autocomplete="off" required />
  </div>`;
}

export function renderOption(value: string, text: string, chosen: string): Html {
  const selected = value === chosen ? html` selected` : "";
  return html`<option value="${value}" ${selected}>${text}</option>`;
}

export function renderHidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}" />`;
}

export function renderCopy(text: string, id: string, label: string): Html {
  return html`<div class="copy">
    <code id="${id}">${text}</code>
    <button type="button" class="small" data-copy="${id}" aria-label="${label}">Copy</button>
  </div>`;
}

/** As much of a text as is seen of it: whole, it may be longer than the rest of the page. */
export function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text;
}
