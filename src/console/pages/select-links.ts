import type { JsonObject } from "../../contract/json.ts";
import { html, type Html } from "../html.ts";
import type { Visit } from "../page.ts";
import { renderHidden } from "../parts.ts";
import { readNumber } from "../read.ts";
import { isNarrowed, writeFilter, writeFound, type LinkQuery } from "./link-query.ts";

/** Rows of the list that are ticked, and what is done with them. */

/** Only a script can tick several. */
const pickAll = html`<label class="pick"
  ><input type="checkbox" data-all aria-label="Select all on this page"
/></label>`;

export const selectColumn = { name: "Select", look: "pick", head: pickAll };

type Box = {
  readonly name: string;
  readonly value: string;
  readonly label: string;
  readonly isOpen?: boolean;
};

export function renderPick({ name, value, label, isOpen = true }: Box): Html {
  if (!isOpen) return html`<td class="pick"></td>`;
  return html`<td class="pick">
    <label class="pick"
      ><input type="checkbox" name="${name}" value="${value}" aria-label="Select ${label}"
    /></label>
  </td>`;
}

type Selecting = {
  readonly table: Html;
  readonly paging: Html;
  readonly query: LinkQuery;
  readonly meta: JsonObject;
  readonly visit: Visit;
};

export function renderSelecting({ table, paging, query, meta, visit }: Selecting): Html {
  return html`<form method="post" action="/links/several" data-select>
    ${renderHidden("form_token", visit.formToken)} ${renderQuery(query)} ${table}
    <div class="selected">
      <span class="number" data-count role="status">Selected:</span>
      ${renderAll(query, meta)}
      <span class="buttons">
        ${
          visit.account.mayUse("update_link")
            ? html`<button class="small" name="way" value="">Change…</button>`
            : ""
        }
        ${
          visit.account.mayUse("delete_link")
            ? html`<button class="small grave" name="way" value="delete">Delete…</button>`
            : ""
        }
      </span>
    </div>
    ${paging}
  </form>`;
}

/** Which list it was, for whoever means all of it. */
export function renderQuery({ search, filters }: Pick<LinkQuery, "search" | "filters">): Html {
  return html`${search === "" ? "" : renderHidden("search", search)}
  ${filters.map((filter) => renderHidden("filter", writeFilter(filter)))}`;
}

/** Where nothing narrows the list down, all would be every link there is. */
function renderAll(query: LinkQuery, meta: JsonObject): Html | string {
  const isOnPage = readNumber(meta, "last") <= 1;
  if (isOnPage || !isNarrowed(query)) return "";
  return html`<label class="check">
    <input type="checkbox" name="all" />
    <span>All matching links (${writeFound(meta, query)})</span>
  </label>`;
}
