import type { ReceivedMeta } from "../../contract/fields.ts";
import {
  linkFilters,
  ownLinkFilters,
  type FilterFields,
  type FilterInput,
  type OfferedCondition,
} from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import { paging } from "../../contract/limits.ts";
import { writeLabel } from "../../text/write-label.ts";
import type { Part } from "../html.ts";
import { renderHidden, writeNumber } from "../parts.ts";
import { readPage } from "../read-address.ts";

/** Which links a list shows. The page's URL contains the query, so that users can bookmark it. */
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

export const conditionWords: Readonly<Partial<Record<OfferedCondition, string>>> = {
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

/** Parses a filter such as `clicks gteq 10`. */
export function readFilter(text: string): FilterInput {
  const [, field = text, word = "", given = ""] = /^(\w+) (\w+) ?([^]*)$/.exec(text) ?? [];
  // The cast is safe: the tool rejects unknown conditions and lists the valid ones.
  const condition = word as OfferedCondition;
  if (condition === "empty" || condition === "present") {
    return { field, condition, value: given !== "false" };
  }
  const value = given.trim();
  const isNumber = filterFields[field] === "integer" && /^\d+$/.test(value);
  return { field, condition, value: isNumber ? Number(value) : value };
}

export function describeFilter({ field, condition, value }: FilterInput): string {
  const words = `${writeLabel(field)} ${conditionWords[condition] ?? condition}`;
  return typeof value === "boolean" ? words : `${words} ${String(value)}`;
}

export function writeFilter({ field, condition, value }: FilterInput): string {
  return `${field} ${condition} ${String(value)}`;
}

/** Formats the query string without defaults. Page 0 becomes `page=`, ready for a page number. */
export function writeLinkQuery({ search, sort, filters, page }: LinkQuery): string {
  const params = new URLSearchParams();
  if (search !== "") params.set("search", search);
  for (const filter of filters) params.append("filter", writeFilter(filter));
  if (sort !== "newest") params.set("sort", sort);
  if (page !== 1) params.set("page", page === 0 ? "" : String(page));
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

/** Returns the maximum number of matches to count. No user opens that many pages. */
export function chooseMostCounted({ search, filters }: LinkQuery): number {
  const texts = [
    ...search.split(/\s+/u),
    ...filters.map(({ condition, value }) => (condition === "cont" ? String(value) : "")),
  ];
  const found = texts.filter((text) => text !== "");
  const shortest = Math.min(...found.map((text) => Array.from(text).length));
  return shortest < paging.shortest_indexed ? mostOfShort : paging.most_counted;
}

/** The limit for short search strings. The index cannot find them, so the database scans links. */
const mostOfShort = 1000;

/** Whether more links match than were counted. Counting stops one above the limit. */
export function isCountCut({ count }: ReceivedMeta, query: LinkQuery): boolean {
  return isNarrowed(query) && count === chooseMostCounted(query) + 1;
}

export function writeFound(meta: ReceivedMeta, query: LinkQuery): string {
  if (!isCountCut(meta, query)) return writeNumber(meta.count);
  return `more than ${writeNumber(chooseMostCounted(query))}`;
}

export const linkList = { name: "Links", address: "/links" };

export const idPattern = String.raw`/links/(?<id>[^/]+)`;

export const gone = { label: "link", list: linkList };

/** Renders the list's search and filters as hidden fields, for forms that apply to all matches. */
export function renderQuery({ search, filters }: Pick<LinkQuery, "search" | "filters">): Part {
  return [
    search !== "" && renderHidden("search", search),
    filters.map((filter) => renderHidden("filter", writeFilter(filter))),
  ];
}
