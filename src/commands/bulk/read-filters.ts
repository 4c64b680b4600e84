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

/**
 * Parses filters such as `name_cont=spring`. Rejects filters that the API would silently ignore.
 */
export function readFilters(texts: readonly string[]): readonly FilterInput[] {
  if (texts.length > paging.max_filters) {
    throw new UsageFault(`pass --filter at most ${paging.max_filters} times`);
  }
  const filters = texts.map(readFilter);
  const [repeated] = findRepeated(filters);
  if (repeated !== undefined) {
    throw refuseFilter(texts[repeated] ?? "", "is given twice; pass each condition once");
  }
  return filters;
}

const fields: FilterFields = { ...linkFilters, ...ownLinkFilters };

/** Every field with every condition. The contract checks which of them can be combined. */
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
  const decoded = decodeFilter({ ...test, value });
  const filter = { ...decoded, value: splitList(decoded) };
  const fault = findFilterFault(fields, filter);
  if (fault !== undefined) throw refuseFilter(text, fault);
  return filter;
}

/** Lists may also be JSON, for values that contain commas. */
function splitList({ condition, value }: FilterInput): FilterInput["value"] {
  return condition === "in" && typeof value === "string" ? value.split(",") : value;
}

function explainName(name: string): string {
  const nearest = findNearest(name, names.keys());
  if (nearest !== undefined) return `is not a filter; did you mean ${nearest}?`;
  const known = Object.keys(fields).join(", ");
  const conditions = offeredConditions.join(", ");
  return `is not a filter; write a field (${known}), then _ and a condition (${conditions})`;
}

/** Checks a search text. */
export function readSearchText(text: string | undefined): string | undefined {
  const fault = text === undefined ? undefined : findSearchFault(text);
  if (fault !== undefined) throw new UsageFault(`--search ${fault}`);
  return text;
}

function refuseFilter(text: string, fault: string): UsageFault {
  return new UsageFault(`--filter ${quote(text)} ${fault}`);
}
