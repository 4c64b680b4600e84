import { html, type Html } from "./html.ts";

/** Pieces that several pages have. */

/** What the form before has done. */
const notes: Readonly<Record<string, string>> = {
  created: "The link is there.",
  saved: "Saved.",
  deleted: "Deleted. It can be restored for 30 days.",
  restored: "Restored.",
  undone: "Undone.",
  unchanged: "Nothing was changed.",
};

export function renderNote({ searchParams }: URL): Html | string {
  const text = notes[searchParams.get("done") ?? ""];
  return text === undefined ? "" : html`<p class="note good" role="status">${text}</p>`;
}

/** Why something was not done; nothing where it was. */
export function renderFault(text: string | undefined): Html | string {
  return text === undefined || text === "" ? "" : html`<p class="fault" role="alert">${text}</p>`;
}

type Head = {
  /** The list that it was come from. */
  readonly back?: string;
  readonly beside?: Html | string;
};

/** Above a page that lies below the list of links. */
export function renderLinkHead(title: string, { back = "/links", beside = "" }: Head = {}): Html {
  return html`<div class="head">
    <div>
      <p class="crumbs"><a href="${back}">Links</a></p>
      <h1 dir="auto">${title}</h1>
    </div>
    ${beside}
  </div>`;
}

type Column = { readonly name: string; readonly look?: string };

export function renderTable(
  caption: string,
  columns: readonly Column[],
  rows: readonly Html[],
): Html {
  const heads = columns.map(({ name, look }) => {
    const styled = look === undefined ? "" : html` class="${look}"`;
    return html`<th scope="col" ${styled}>${name}</th>`;
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
    <p class="hint" id="pin-hint">The PIN that the operator of this server set. ${hint}</p>
  </div>`;
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

/** A field as a person calls it: "iOS fallback URL". */
export function writeLabel(name: string): string {
  const words = name
    .replaceAll("_", " ")
    .replace(/\b(id|url)\b/g, (word) => word.toUpperCase())
    .replace(/\bios\b/g, "iOS")
    .replace(/\bandroid\b/g, "Android");
  return words.startsWith("iOS") ? words : words.charAt(0).toUpperCase() + words.slice(1);
}
