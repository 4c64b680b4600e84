import { html, type Html, type Part } from "./html.ts";
import type { ParentPage, PageReply, Reply, PageRequest } from "./page.ts";

/** Parts of pages that several pages share. */

export function goToPlan({ plan }: { readonly plan: { readonly id: string } }): Reply {
  return { kind: "go", to: `/plans/${encodeURIComponent(plan.id)}` };
}

export function addNote(address: string, done: string): string {
  return addToAddress(address, "done", done);
}

export function addToAddress(address: string, name: string, value: string): string {
  return `${address}${address.includes("?") ? "&" : "?"}${name}=${value}`;
}

/** Renders an error message; nothing if the text is empty. */
export function renderFault(text: Part): Part {
  return text && html`<p class="fault" role="alert">${text}</p>`;
}

/** Shown for a missing record, with a link to the list of its kind. */
export function showMissing(thing: string, why: string, { name, address }: ParentPage): PageReply {
  return {
    kind: "page",
    status: 404,
    title: "Not found",
    heading: `This ${thing} does not exist`,
    body: html`<p class="soft">${why}</p>
      <p><a class="button" href="${address}">View all ${name.toLowerCase()}</a></p>`,
  };
}

type Card = {
  readonly inside?: Part;
  /** Shown below `inside`, without padding. */
  readonly below?: Part;
  readonly actions?: Part;
  readonly look?: string;
  readonly heading?: Html;
  readonly id?: string;
  readonly attributes?: Html | undefined;
};

export function renderCard(title: string, card: Card): Html {
  const { id, actions, heading = title } = card;
  const text = html`<h2 ${id && html`id="${id}"`}>${heading}</h2>`;
  const top = actions ? html`<header>${text} ${actions}</header>` : text;
  return renderBox(title, card, top);
}

/** Renders a section whose title is visible only to screen readers. */
export function renderBox(
  title: string,
  { inside, below, look = "", attributes }: Pick<Card, "inside" | "below" | "look" | "attributes">,
  top?: Html,
): Html {
  return html`<section class="card ${look}" aria-label="${title}" ${attributes}>
    ${top} ${inside !== undefined && html`<div class="inside">${inside}</div>`} ${below}
  </section>`;
}

export function renderList(items: readonly Part[], look = "list"): Html {
  return html`<ul class="${look}">
    ${items}
  </ul>`;
}

export function renderFacts(
  facts: readonly (readonly [name: string, text: Part])[],
  look = "facts",
): Html {
  const rows = facts.map(
    ([name, text]) =>
      html`<div>
        <dt>${name}</dt>
        <dd>${text}</dd>
      </div>`,
  );
  return html`<dl class="${look}">${rows}</dl>`;
}

/** A form that changes something, with a CSRF token. */
export function renderForm(
  { formToken }: Pick<PageRequest, "formToken">,
  address: string,
  body: Part,
  attributes: Html = html`class="stack"`,
): Html {
  return html`<form method="post" action="${address}" ${attributes}>
    ${renderHidden("form_token", formToken)} ${body}
  </form>`;
}

/** A form whose only visible element is its submit button. */
export function renderPost(
  request: Pick<PageRequest, "formToken">,
  address: string,
  button: Html,
  hidden: Readonly<Record<string, string>> = {},
): Html {
  const fields = Object.entries(hidden).map(([name, value]) => renderHidden(name, value));
  return renderForm(request, address, [fields, button], html``);
}

export type RowColumn<Row> = {
  readonly name: string;
  readonly look?: string;
  readonly head?: Html;
  readonly isRowName?: boolean;
  readonly cell: (row: Row) => Part;
};

/** Skips columns that are false. */
export function renderTable<Row>(
  caption: string,
  columns: readonly (RowColumn<Row> | false)[],
  rows: readonly Row[],
): Html {
  const shown = columns.filter((column) => column !== false);
  const heads = shown.map(
    ({ name, look = "", head = name }) => html`<th scope="col" class="${look}">${head}</th>`,
  );
  const renderCells = (row: Row) =>
    shown.map(({ look = "", isRowName = false, cell }) =>
      isRowName
        ? html`<th scope="row" dir="auto">${cell(row)}</th>`
        : html`<td class="${look}">${cell(row)}</td>`,
    );
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
      ${rows.map(
        (row) =>
          html`<tr>
            ${renderCells(row)}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** `isFirst`: the PIN is the first field to fill in, so it gets the focus. */
export function renderPin(hint: string, isFirst = false): Html {
  return html`<div class="field">
    <label for="pin">PIN</label>
    <input
      id="pin"
      name="pin"
      type="password"
      autocomplete="off"
      required
      ${isFirst && html` autofocus`}
      aria-describedby="pin-hint"
    />
    <p class="hint" id="pin-hint">Enter the PIN that this server's operator set. ${hint}</p>
  </div>`;
}

export function renderOption(value: string, text: string, chosen: string): Html {
  return html`<option value="${value}" ${value === chosen && html` selected`}>${text}</option>`;
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

export function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text;
}

export function writeNumber(number: number | null | undefined): string {
  return (number ?? 0).toLocaleString("en");
}

/** Formats counts such as "1 link" or "1,200 links". */
export function countThings(count: number, thing: string): string {
  return count === 1 ? `1 ${thing}` : `${writeNumber(count)} ${thing}s`;
}

/** Formats a host as an address bar shows it. */
export function showHost(host = ""): string {
  return host.replace(/^https?:\/\//, "");
}

/** Makes the page's script refresh this element, more often while a job runs. */
export function renderFollow(isRunning: boolean): Html {
  return html` data-follow="${isRunning ? 3 : 5}" tabindex="-1"`;
}
