import type { ReceivedMeta } from "../contract/fields.ts";
import { readPageNumber } from "../network/read-request.ts";
import type { ChangeResult } from "./account.ts";
import { html, type Html, type Part } from "./html.ts";
import type { Reply } from "./page.ts";
import { renderBox, renderFault, renderOption, renderTable, type RowColumn } from "./parts.ts";

/** Parts of list pages: rows, search, filters and paging. */

/** Redirects to the last page if the requested page no longer exists. */
export function goToLast(
  { pathname, searchParams }: URL,
  answer: ChangeResult<{ readonly meta?: ReceivedMeta }>,
): Reply | undefined {
  if (answer.kind !== "done") return undefined;
  const last = Math.max(1, answer.result.meta?.last ?? 0);
  if (readPageNumber(searchParams) <= last) return undefined;
  const params = new URLSearchParams(searchParams);
  params.set("page", String(last));
  return { kind: "go", to: `${pathname}?${String(params)}` };
}

export function renderAnswer<Result>(
  answer: ChangeResult<Result>,
  render: (result: Result) => Part,
): Part {
  if (answer.kind === "done") return render(answer.result);
  return answer.kind === "failed" && renderFault(answer.failure.message);
}

type Rows<Row> = {
  readonly things: string;
  readonly columns: readonly (RowColumn<Row> | false)[];
  readonly rows: readonly Row[];
  readonly empty: Part;
  readonly paging?: Part;
};

export function renderRows<Row>({ things, columns, rows, empty, paging }: Rows<Row>): Html {
  if (rows.length === 0) return html`<div class="empty"><p>${empty}</p></div>`;
  return html`${renderTable(things, columns, rows)} ${paging}`;
}

type Search = {
  readonly address: string;
  readonly name: string;
  readonly text: string;
  readonly label: string;
  readonly placeholder: string;
  readonly choice: {
    readonly name: string;
    readonly label: string;
    readonly chosen: string;
    readonly options: readonly (readonly [value: string, text: string])[];
  };
  readonly hidden?: Part;
  readonly more?: Part;
};

/** A list with a search field. The script replaces the results and announces their number. */
export function renderSearchedList(title: string, search: Search, list: Part): Html {
  return renderBox(title, {
    below: html`<div class="tools">${renderSearch(search)} ${search.more}</div>
      <p class="hidden" role="status" id="found"></p>
      <div id="results">${list}</div>`,
  });
}

function renderSearch(search: Search): Html {
  const { address, name, text, label, placeholder, choice, hidden } = search;
  return html`<form action="${address}" role="search" class="row" data-live="results">
    ${hidden}
    <div class="search">
      <label class="hidden" for="${name}">${label}</label>
      <input
        type="search"
        id="${name}"
        name="${name}"
        value="${text}"
        autocomplete="off"
        placeholder="${placeholder}"
      />
    </div>
    <div class="sort">
      <label class="hidden" for="${choice.name}">${choice.label}</label>
      <select id="${choice.name}" name="${choice.name}">
        ${choice.options.map(([value, word]) => renderOption(value, word, choice.chosen))}
      </select>
    </div>
    <button>Search</button>
  </form>`;
}

export function writeListAddress(
  address: string,
  query: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>>,
): string {
  const narrowed = Object.entries(query).filter(([, value]) => value !== "");
  return `${address}?${String(new URLSearchParams([...narrowed, ...Object.entries(more)]))}`;
}

/** Renders links to the pages of a list. Their URLs are `address` plus the page number. */
export function renderPaging(
  meta: ReceivedMeta | undefined,
  things: string,
  address: string,
  /** Shown instead of the page number, such as "21–40 of 95". */
  range?: string,
): Part {
  const [page, last] = [meta?.page ?? 0, meta?.last ?? 0];
  if (last <= 1 && range === undefined) return "";
  const step = (name: string, to: number) =>
    html`<a class="button small" href="${address}${to}">${name}</a>`;
  return html`<nav class="foot" aria-label="Pages of ${things}">
    <span class="number">${range ?? `Page ${page} of ${last}`}</span>
    <span class="buttons">
      ${page > 1 && step("Previous", page - 1)} ${page < last && step("Next", page + 1)}
    </span>
  </nav>`;
}

type Box = { readonly name: string; readonly value: string; readonly label: string };

/** A row for which `describe` returns undefined cannot be selected. */
export function createPickColumn<Row>(describe: (row: Row) => Box | undefined): RowColumn<Row> {
  return {
    name: "Select",
    look: "pick",
    // Selecting all rows needs JavaScript.
    head: html`<label class="pick"
      ><input type="checkbox" data-all aria-label="Select all on this page"
    /></label>`,
    cell: (row) => {
      const box = describe(row);
      return box && renderPick(box);
    },
  };
}

function renderPick({ name, value, label }: Box): Html {
  return html`<label class="pick"
    ><input type="checkbox" name="${name}" value="${value}" aria-label="Select ${label}"
  /></label>`;
}
