import { UsageFault } from "../../config.ts";
import {
  offeredConditions,
  linkFilters,
  ownLinkFilters,
  type FilterFields,
  type FilterInput,
} from "../../contract/filters.ts";
import { paging } from "../../contract/limits.ts";
import { findSearchFault } from "../../contract/rules/read-search.ts";
import { decodeFilter, findFilterFault, findRepeated } from "../../mcp/schemas/check-filters.ts";
import { findNearest } from "../../text/nearest-name.ts";
import { quote } from "../../text/show-hidden.ts";

/** Parses the flags that select links. */

type SelectionFlags = {
  readonly filter?: readonly string[] | undefined;
  readonly search?: string | undefined;
};

/** Rejects invalid filters, because the API would silently ignore them. */
export function readSelection({ filter: texts = [], search }: SelectionFlags) {
  if (texts.length > paging.max_filters) {
    throw new UsageFault(`pass --filter at most ${paging.max_filters} times`);
  }
  const filters = texts.map(readFilter);
  const [repeated] = findRepeated(filters);
  if (repeated !== undefined) {
    throw refuseFilter(texts[repeated] ?? "", "is given twice; pass each condition once");
  }
  const fault = search === undefined ? undefined : findSearchFault(search);
  if (fault !== undefined) throw new UsageFault(`--search ${fault}`);
  return { filters, search };
}

const fields: FilterFields = { ...linkFilters, ...ownLinkFilters };

/** Maps a name, such as `name_cont`, to its field and condition. Some combinations are invalid. */
const names: ReadonlyMap<string, Pick<FilterInput, "field" | "condition">> = new Map(
  Object.keys(fields).flatMap((field) =>
    offeredConditions.map((condition) => [`${field}_${condition}`, { field, condition }] as const),
  ),
);

function readFilter(text: string): FilterInput {
  const [, name = text, value] = /^([^=]*)=(.*)$/su.exec(text) ?? [];
  const test = names.get(name.trim());
  if (test === undefined) throw refuseFilter(text, explainName(name.trim()));
  if (value === undefined) throw refuseFilter(text, "has no value; write it as name_cont=spring");
  const { value: decoded } = decodeFilter({ ...test, value });
  // Lists may also be given as JSON, so that values can contain commas.
  const isPlainList = test.condition === "in" && typeof decoded === "string";
  const filter = { ...test, value: isPlainList ? decoded.split(",") : decoded };
  const fault = findFilterFault(fields, filter);
  if (fault !== undefined) throw refuseFilter(text, fault);
  return filter;
}

function explainName(name: string): string {
  const nearest = findNearest(name, names.keys());
  if (nearest !== undefined) return `is not a filter; did you mean ${nearest}?`;
  const known = Object.keys(fields).join(", ");
  const conditions = offeredConditions.join(", ");
  return `is not a filter; write a field (${known}), then _ and a condition (${conditions})`;
}

function refuseFilter(text: string, fault: string): UsageFault {
  return new UsageFault(`--filter ${quote(text)} ${fault}`);
}
