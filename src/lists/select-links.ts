import type { ServerAccess } from "../client/client.ts";
import { CallFailure } from "../client/outcome.ts";
import {
  isOwnField,
  linkFilters,
  ownLinkFilters,
  searchName,
  toPlainFilter,
  type FieldKind,
  type FilterCondition,
  type FilterFields,
  type FilterInput,
  type LinkSelection,
  type ListInput,
} from "../contract/filters.ts";
import type { JsonObject } from "../contract/json.ts";
import { links, type ReadLink } from "../contract/links.ts";
import { Problem, toSentence } from "../contract/problem.ts";
import { decodeForSearch, normalizeForSearch } from "../contract/rules/link-path.ts";
import { fold } from "../contract/text.ts";
import { readList, type ListPart } from "./read-list.ts";

/** Yields all matching links, oldest first. */
export async function* selectParts(
  asking: ServerAccess,
  filters: readonly FilterInput[],
  search?: string,
): AsyncGenerator<ListPart<ReadLink>> {
  const checkFilters = createFilterCheck(asking);
  const readPage = (input: ListInput) => listLinks(asking, { ...input, search });
  for await (const part of readList<ReadLink>(links.index, readPage, filters)) {
    await checkFilters(part.rows, filters);
    yield part;
  }
}

/**
 * Reads one page of links. Throws unless the server confirms all filters that only Waypost has.
 * Other servers ignore such filters, and would return all links.
 */
export async function listLinks({ call, signal }: ServerAccess, input: ListInput) {
  const page = await call(links.index, input, signal);
  const { applied } = page.meta;
  const isApplied = (name: string) => Array.isArray(applied) && applied.includes(name);
  if (nameWaypostFilters(input).every(isApplied)) return page;
  throw refuseWaypostFilters(input);
}

export function usesOwnFilters(selection: LinkSelection): boolean {
  return nameWaypostFilters(selection).length > 0;
}

function nameWaypostFilters({ filters = [], search }: LinkSelection): readonly string[] {
  const own = filters.filter(isWaypostFilter).map(toPlainFilter);
  const names = own.map(({ field, condition }) => `${field}_${condition}`);
  return search === undefined ? names : [...names, searchName];
}

function isWaypostFilter({ field }: FilterInput): boolean {
  return isOwnField(links.index.list, field);
}

function refuseWaypostFilters({ filters = [], search }: LinkSelection): Problem {
  const fields = [...new Set(filters.filter(isWaypostFilter).map(({ field }) => field))];
  const refused = [
    ...(fields.length > 0 ? [`filters on ${toSentence(fields)}`] : []),
    ...(search === undefined ? [] : ["search"]),
  ];
  const message =
    `This server does not support ${toSentence(refused)}. ` +
    `It filters links by ${toSentence(Object.keys(linkFilters))}.`;
  const field = fields.length > 0 ? "filters" : "search";
  return new Problem(422, message, { problems: [{ field, message }] });
}

/**
 * Throws if a link does not match the filters, because a server that ignores a filter returns all
 * links.
 */
function createFilterCheck(asking: ServerAccess) {
  const known = new Set<string>();
  return async (rows: readonly ReadLink[], filters: readonly FilterInput[]): Promise<void> => {
    for (const filter of filters) {
      const name = `${filter.field} ${filter.condition}`;
      const matches = new Set(rows.map(createMatcher(filter)));
      if (matches.has(false)) throw refuseFilter(name);
      // The server has already confirmed that it supports Waypost's own filters.
      const isConfirmed = isWaypostFilter(filter) || known.has(name);
      if (!matches.has(undefined) || isConfirmed) continue;
      if (!(await isKnown(asking, filter))) throw refuseFilter(name);
      known.add(name);
    }
  };
}

function refuseFilter(name: string): CallFailure {
  const answer = `The server returned links that do not match the filter ${name}`;
  const message = `${answer}; it may not support that filter.`;
  return new CallFailure("bad_response", message, { effect: "none", retry: "never" });
}

/**
 * Tests whether the server supports a filter on a field that its responses do not contain. Sends
 * filters that no link can match. Only a server that supports the filter returns an empty list.
 */
async function isKnown({ call, signal }: ServerAccess, filter: FilterInput): Promise<boolean> {
  for (const filters of contradict(filter)) {
    if ((await call(links.index, { limit: 1, filters }, signal)).links.length > 0) return false;
  }
  return true;
}

/**
 * Maps each condition to its opposite. A field that is null matches neither a comparison nor the
 * opposite of the comparison.
 */
const opposites: Readonly<Partial<Record<FilterCondition, FilterCondition>>> = {
  null: "present",
  present: "null",
  not_eq: "eq",
  gt: "lteq",
  lteq: "gt",
  lt: "gteq",
  gteq: "lt",
};

function contradict(asked: FilterInput): readonly (readonly FilterInput[])[] {
  const filter = toPlainFilter(asked);
  const { field, condition } = filter;
  const opposite = opposites[condition];
  if (opposite !== undefined) {
    const missing = { field, condition: "null", value: true } as const;
    const opposing = [[filter, { ...filter, condition: opposite }]];
    return opposite === "null" || condition === "null"
      ? opposing
      : [...opposing, [filter, missing]];
  }
  const value = field === "created_at" ? "1000-01-01" : "waypost asks for what no link has";
  return [[{ ...filter, value: condition === "in" ? [value] : value }]];
}

const fields: FilterFields = { ...linkFilters, ...ownLinkFilters };

/**
 * Returns a function that checks whether a link matches a filter. The function returns undefined if
 * only the server can decide: for times, for ordering conditions, and if the link lacks the field.
 */
function createMatcher(filter: FilterInput): (link: JsonObject) => boolean | undefined {
  const { field, condition, value } = toPlainFilter(filter);
  const kind = fields[field];
  if (kind === undefined || kind === "time") return () => undefined;
  const wanted = [value].flat().map((item) => readWanted(item, kind, condition));
  return (link) => {
    const held = link[field];
    if (held === undefined) return undefined;
    if (condition === "null") return (held === null) === value;
    if (condition === "present") return (held === null || held === "") !== value;
    // Null matches none of the remaining conditions. Strings are compared directly, and other
    // values as JSON.
    const text = typeof held === "string" ? held : JSON.stringify(held);
    return held === null ? false : tests[condition]?.(text, wanted);
  };
}

type FilterTest = (held: string, wanted: readonly string[]) => boolean;

const isIn: FilterTest = (held, wanted) => wanted.includes(held);

const tests: Readonly<Partial<Record<FilterCondition, FilterTest>>> = {
  eq: isIn,
  in: isIn,
  not_eq: (held, wanted) => !isIn(held, wanted),
  cont: (held, [wanted = ""]) => fold(held).includes(fold(wanted)),
  start: (held, [wanted = ""]) => fold(held).startsWith(fold(wanted)),
};

function readWanted(value: unknown, kind: FieldKind, condition: FilterCondition): string {
  const text = String(value).trim();
  if (condition === "cont") return text;
  if (kind === "path") return (condition === "start" ? decodeForSearch : normalizeForSearch)(text);
  return kind === "integer" && condition !== "start" ? String(Number(text)) : text;
}
