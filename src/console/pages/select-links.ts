import { html, type Html, type Part } from "../html.ts";
import { renderHidden, type Column } from "../parts.ts";
import { writeFilter, type LinkQuery } from "./link-query.ts";

/** Rows that a person ticks, and the list that they are in. */

type Box = { readonly name: string; readonly value: string; readonly label: string };

/** A row without a box cannot be ticked. */
export function createPickColumn<Row>(describe: (row: Row) => Box | undefined): Column<Row> {
  return {
    name: "Select",
    look: "pick",
    // Only the script can tick several.
    head: html`<label class="pick"
      ><input type="checkbox" data-all aria-label="Select all on this page"
    /></label>`,
    cell: (row) => {
      const box = describe(row);
      return box && renderBox(box);
    },
  };
}

function renderBox({ name, value, label }: Box): Html {
  return html`<label class="pick"
    ><input type="checkbox" name="${name}" value="${value}" aria-label="Select ${label}"
  /></label>`;
}

/** The search and the filters of a list, for a form that is about all of it. */
export function renderQuery({ search, filters }: Pick<LinkQuery, "search" | "filters">): Part {
  return [
    search !== "" && renderHidden("search", search),
    filters.map((filter) => renderHidden("filter", writeFilter(filter))),
  ];
}
