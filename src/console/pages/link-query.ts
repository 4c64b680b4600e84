import { writeLabel } from "../../text/write-label.ts";
import { linkFilters, ownLinkFilters } from "../../contract/filters.ts";
import type { AskedCondition, FilterFields, FilterInput } from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import { paging } from "../../contract/limits.ts";
import { readNumber, readPage } from "../read.ts";

/** Which links a list shows, as its address says it: the same address shows the same place. */
export type LinkQuery = {
  readonly search: string;
  readonly sort: SortName;
  readonly filters: readonly FilterInput[];
  readonly page: number;
};

export const sorts = {
  newest: { label: "Newest first", field: "created_at", direction: "desc" },
  oldest: { label: "Oldest first", field: "created_at", direction: "asc" },
  clicks: { label: "Most clicks", field: "clicks", direction: "desc" },
  name: { label: "Name", field: "name", direction: "asc" },
  path: { label: "Path", field: "path", direction: "asc" },
} as const;
type SortName = keyof typeof sorts;

export const filterFields: FilterFields = { ...linkFilters, ...ownLinkFilters };

/** In words, as a person reads them between a field and a value. */
export const conditionWords: Readonly<Partial<Record<AskedCondition, string>>> = {
  eq: "is",
  not_eq: "is not",
  cont: "contains",
  start: "starts with",
  gt: "is more than",
  gteq: "is at least",
  lt: "is less than",
  lteq: "is at most",
  empty: "is empty",
  present: "is not empty",
};

export function readLinkQuery(url: URL): LinkQuery {
  const { searchParams } = url;
  const sort = searchParams.get("sort") ?? "";
  return {
    search: (searchParams.get("search") ?? "").trim(),
    sort: Object.hasOwn(sorts, sort) ? (sort as SortName) : "newest",
    filters: searchParams.getAll("filter").map(readFilter),
    page: readPage(url),
  };
}

/** `clicks gteq 10`, as an address has it. What is no filter is refused by the tool. */
export function readFilter(text: string): FilterInput {
  const [, field = text, word = "", given = ""] = /^(\w+) (\w+) ?([^]*)$/.exec(text) ?? [];
  // The tool checks the condition, and lists the valid ones.
  const condition = word as AskedCondition;
  if (condition === "empty" || condition === "present") {
    return { field, condition, value: given !== "false" };
  }
  const value = given.trim();
  const isNumber = filterFields[field] === "integer" && /^\d+$/.test(value);
  return { field, condition, value: isNumber ? Number(value) : value };
}

/** As a person reads it. */
export function describeFilter({ field, condition, value }: FilterInput): string {
  const words = `${writeLabel(field)} ${conditionWords[condition] ?? condition}`;
  return typeof value === "boolean" ? words : `${words} ${String(value)}`;
}

export function writeFilter({ field, condition, value }: FilterInput): string {
  return `${field} ${condition} ${String(value)}`;
}

/** The part behind the question mark; what is usual is left out. */
export function writeLinkQuery({ search, sort, filters, page }: LinkQuery): string {
  const params = new URLSearchParams();
  if (search !== "") params.set("search", search);
  for (const filter of filters) params.append("filter", writeFilter(filter));
  if (sort !== "newest") params.set("sort", sort);
  if (page > 1) params.set("page", String(page));
  const text = String(params);
  return text === "" ? "" : `?${text}`;
}

export function writeArguments({ search, sort, filters, page }: LinkQuery): JsonObject {
  const { field, direction } = sorts[sort];
  return {
    ...(search !== "" && { search }),
    ...(filters.length > 0 && { filters }),
    sort: { field, direction },
    page,
  };
}

export function isNarrowed({ search, filters }: LinkQuery): boolean {
  return search !== "" || filters.length > 0;
}

/** So many of the links that are found are counted: a person turns no more pages. */
export function chooseMostCounted({ search, filters }: LinkQuery): number {
  const texts = [
    ...search.split(/\s+/u),
    ...filters.map(({ condition, value }) => (condition === "cont" ? String(value) : "")),
  ];
  const found = texts.filter((text) => text !== "");
  const shortest = Math.min(...found.map((text) => Array.from(text).length));
  return shortest < paging.shortest_indexed ? mostOfShort : paging.most_counted;
}

/** For a text that no index finds all links are gone through, until enough have it. */
const mostOfShort = 1000;

/** One more than are counted says that there are more. */
export function isCountCut(meta: JsonObject, query: LinkQuery): boolean {
  return isNarrowed(query) && readNumber(meta, "count") === chooseMostCounted(query) + 1;
}

/** How many links the list has found, as a person reads it. */
export function writeFound(meta: JsonObject, query: LinkQuery): string {
  if (isCountCut(meta, query)) {
    return `more than ${chooseMostCounted(query).toLocaleString("en")}`;
  }
  return readNumber(meta, "count").toLocaleString("en");
}
