import type { JsonObject } from "../contract/json.ts";
import { readPageNumber } from "../network/read-place.ts";
import type { Answer } from "./account.ts";
import { html, type Html } from "./html.ts";
import type { Reply } from "./page.ts";
import { renderFault, renderOption } from "./parts.ts";
import { readNumber, readRecord } from "./read.ts";

/** Pieces of lists: what stands in them, what they are narrowed by, and the way to other pages. */

/** The list that was asked for, or why there is none. */
export function renderAnswer<Result>(
  answer: Answer<Result>,
  render: (result: Result) => Html,
): Html | string {
  if (answer.kind === "done") return render(answer.result);
  return renderFault(answer.kind === "failed" ? answer.failure.message : undefined);
}

/** To the last page, where an address lies behind it: what was there may be deleted. */
export function leadToLast({ pathname, searchParams }: URL, answer: Answer): Reply | undefined {
  if (answer.kind !== "done") return undefined;
  const last = Math.max(1, readNumber(readRecord(answer.result, "meta"), "last"));
  if (readPageNumber(searchParams) <= last) return undefined;
  const params = new URLSearchParams(searchParams);
  params.set("page", String(last));
  return { kind: "go", to: `${pathname}?${String(params)}` };
}

/** What the script replaces while somebody types, and what whoever listens is told of it. */
export function renderResults(list: Html | string): Html {
  return html`<p class="hidden" role="status" id="found"></p>
    <div id="results">${list}</div>`;
}

type Search = {
  readonly address: string;
  readonly text: {
    readonly name: string;
    readonly value: string;
    readonly label: string;
    readonly placeholder: string;
  };
  readonly kind: string;
  /** Each kind with what it is called; the first one is all of them. */
  readonly kinds: readonly (readonly [value: string, text: string])[];
};

/** Narrows a list by a text and a kind. */
export function renderSearch({ address, text, kind, kinds }: Search): Html {
  const { name, value, label, placeholder } = text;
  return html`<form action="${address}" role="search" class="row" data-live="results">
    <div class="search">
      <label class="hidden" for="${name}">${label}</label>
      <input
        type="search"
        id="${name}"
        name="${name}"
        value="${value}"
        autocomplete="off"
        placeholder="${placeholder}"
      />
    </div>
    <div class="sort">
      <label class="hidden" for="kind">Kind</label>
      <select id="kind" name="kind">
        ${kinds.map(([each, called]) => renderOption(each, called, kind))}
      </select>
    </div>
    <button class="plain">Search</button>
  </form>`;
}

/** The address of such a list, with whatever else is asked of it. */
export function writeListAddress(
  address: string,
  query: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>>,
): string {
  const told = Object.entries(query).filter(([, value]) => value !== "");
  return `${address}?${String(new URLSearchParams([...told, ...Object.entries(more)]))}`;
}

/** Below a list of several pages; the address is whole with the number of a page. */
export function renderPaging(meta: JsonObject, things: string, address: string): Html | string {
  const [page, last] = [readNumber(meta, "page"), readNumber(meta, "last")];
  if (last <= 1) return "";
  const before = page > 1 ? renderStep("Previous", address + String(page - 1)) : "";
  const after = page < last ? renderStep("Next", address + String(page + 1)) : "";
  return html`<nav class="foot" aria-label="Pages of ${things}">
    <span class="number">Page ${page} of ${last}</span>
    <span class="buttons">${before} ${after}</span>
  </nav>`;
}

function renderStep(name: string, address: string): Html {
  return html`<a class="button small" href="${address}">${name}</a>`;
}
