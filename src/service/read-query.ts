import type { Endpoint } from "../contract/endpoint.ts";
import {
  offeredConditions,
  conditions,
  isTextual,
  searchName,
  type OfferedCondition,
  type RequestedList,
  type FieldKind,
  type FilterFields,
  type Filter,
  type Sort,
  type FieldTest,
  type TestValue,
} from "../contract/filters.ts";
import { paging } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import { parseTime } from "../contract/local-time.ts";
import { badRequest, Problem } from "../contract/problem.ts";
import { decodeForSearch, normalizeForSearch } from "../contract/rules/link-path.ts";
import { findSearchFault } from "../contract/rules/read-search.ts";
import { isStorable } from "../contract/text.ts";
import { showName } from "../text/show-hidden.ts";
import { keyParameter } from "./keys.ts";

/** Parses query parameters: named ones, and the filters, sorting and pagination of lists. */

export type ReadQuery = {
  readonly list: RequestedList | null;
  /** The named parameters of an endpoint; null for a list. */
  readonly named: Readonly<Record<string, string>> | null;
  /** The names in `q[…]` that were ignored. */
  readonly ignored: readonly string[];
};

export function readQuery(
  query: URLSearchParams,
  { list, selects, query: schema, ours }: Endpoint,
): ReadQuery {
  const selected = list ?? selects;
  const read = selected && readList(query, selected);
  const ignored = read?.ignored ?? [];
  const known = Object.keys(schema?.shape ?? {});
  if (ours === true) refuseUnknown(query, { known, ignored, isSelecting: selects !== undefined });
  return { list: read?.list ?? null, named: schema ? readNamed(query, known) : null, ignored };
}

/** Parses the parameters with these names. Each may be sent at most once. */
function readNamed(query: URLSearchParams, names: readonly string[]) {
  const named = names.flatMap((name) => {
    const [value, ...more] = query.getAll(name);
    if (more.length > 0) throw new Problem(422, messages.parameter_repeated(name));
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(named);
}

const mostNamed = 20;

type KnownParameters = {
  readonly known: readonly string[];
  readonly ignored: readonly string[];
  readonly isSelecting: boolean;
};

/**
 * Rejects unknown parameters at Waypost's own endpoints, because ignoring them would mislead
 * callers. At the endpoints of the API specification, unknown parameters must be ignored.
 */
function refuseUnknown(
  query: URLSearchParams,
  { known, ignored, isSelecting }: KnownParameters,
): void {
  const all = new Set([keyParameter, ...known]);
  const unknownNames = [...query.keys()].filter(
    (name) => !all.has(name) && !(isSelecting && isFilter(name)),
  );
  const filters = ignored.map((name) => (/^q$|\[/.test(name) ? name : `q[${name}]`));
  const names = [...new Set([...unknownNames, ...filters])].slice(0, mostNamed).map(showName);
  if (names.length === 0) return;
  const kinds = isSelecting ? ["q[field_condition]", "f[field_condition]"] : [];
  throw new Problem(422, messages.query_unknown(names.join(", "), [...known, ...kinds].join(", ")));
}

/** Whether a parameter is a filter. `q[s]` is not, because it sorts. */
function isFilter(name: string): boolean {
  return /^[qf]\[/.test(name) && !name.startsWith("q[s]");
}

/**
 * Parses a list's query: `page`, `limit`, `q[field_condition]` and `q[s]`, with the semantics of
 * Ransack and pagy. Unknown fields are ignored, as the API's specification requires. An unknown
 * condition of a known field is rejected, because ignoring it would match everything.
 */
function readList(
  query: URLSearchParams,
  { filters: fields, own = {} }: NonNullable<Endpoint["list"] | Endpoint["selects"]>,
): { readonly list: RequestedList; readonly ignored: readonly string[] } {
  const { given: all, malformed } = groupByName(query, "q");
  const given = dropBlanks(all);
  const ours = readOwnFilters(query, own);
  if (given.size + ours.applied.length > paging.max_filters) {
    throw badRequest(messages.too_many_filters);
  }
  const named = [...given].filter(([name]) => name !== "s");
  const filters = named.map(([name, values]) => readFilter(name, values, fields));
  const sorts = (given.get("s") ?? []).map((text) => readSort(text, fields));
  return {
    list: {
      page: readPositive(query, "page", 1),
      limit: Math.min(readPositive(query, "limit", paging.default_limit), paging.max_limit),
      filters: [...filters.filter((filter) => filter !== undefined), ...ours.filters],
      sorts: sorts.filter((sort) => sort !== undefined),
      applied: ours.applied,
      search: ours.search,
      ...(query.has("count_to") && {
        count_to: readPositive(query, "count_to", paging.most_counted),
      }),
    },
    ignored: [
      ...named.flatMap(([name], index) => (filters[index] === undefined ? [name] : [])),
      ...(sorts.includes(undefined) ? ["s"] : []),
      ...malformed,
    ],
  };
}

type ParameterValues = ReadonlyMap<string, readonly string[]>;

/**
 * Groups values by name, for `q[name]` and for lists such as `q[name][]` and `q[name][0]`. If
 * `q[name]` is repeated, the last value is used. Other spellings are returned as `malformed`.
 */
function groupByName(query: URLSearchParams, letter: "q" | "f") {
  const given = new Map<string, readonly string[]>();
  const malformed = new Set<string>();
  for (const [key, value] of query) {
    if (!key.startsWith(letter)) continue;
    const [, name, list] = /^.\[([^[\]]+)\](\[\d*\])?$/.exec(key) ?? [];
    if (name === undefined) {
      if (/^.(\[|$)/.test(key)) malformed.add(key);
      continue;
    }
    const group = list === undefined ? [] : (given.get(name) ?? []);
    given.set(name, [...group, value.trim()]);
  }
  return { given, malformed };
}

function dropBlanks(given: ParameterValues): ParameterValues {
  const filled = [...given].map(([name, values]) => {
    return [name, values.filter((value) => value !== "")] as const;
  });
  return new Map(filled.filter(([, values]) => values.length > 0));
}

function readPositive(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.getAll(name).at(-1);
  if (text === undefined) return otherwise;
  if (!/^\d+$/.test(text) || !/[1-9]/.test(text)) throw badRequest(messages.not_positive(name));
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

/** Splits a name such as `name_or_path_not_eq` into its fields and its longest known condition. */
function splitName<Name extends string>(name: string, known: readonly Name[]) {
  const [condition] = known
    .filter((candidate) => name.endsWith(`_${candidate}`))
    .toSorted((one, other) => other.length - one.length);
  if (condition === undefined) return undefined;
  return { condition, subject: name.slice(0, -condition.length - 1) };
}

function readFilter(
  name: string,
  values: readonly string[],
  fields: FilterFields,
): Filter | undefined {
  const split = splitName(name, conditions);
  refuseUnknownCondition(name, split !== undefined, fields);
  if (split === undefined) return undefined;
  const { condition, subject } = split;
  const join = /_(and|or)_/.exec(subject)?.[1] === "or" ? "or" : "and";
  // Remove duplicates, because a thousand repeated fields would make a huge query.
  const tests = [...new Set(subject.split(joints))].map((field): FieldTest | undefined => {
    const kind = Object.hasOwn(fields, field) ? fields[field] : undefined;
    const value = kind && readValue(values, kind, condition);
    return kind && value !== undefined ? { field, kind, condition, value } : undefined;
  });
  // If one field is unknown, the whole filter is ignored.
  const known = tests.filter((test) => test !== undefined);
  return known.length === tests.length ? { join, tests: known } : undefined;
}

const joints = /_and_|_or_/;

/**
 * Rejects an unknown condition of a known field, such as `name_like` or `name_not_in`. A name such
 * as `name_tag_eq` is ignored, because another server may have a field `name_tag`.
 */
function refuseUnknownCondition(name: string, isKnown: boolean, fields: FilterFields): void {
  const last = name.split(joints).at(-1) ?? "";
  const field = Object.keys(fields).find((known) => `${last}_`.startsWith(`${known}_`));
  if (field === undefined) return;
  const condition = last.slice(field.length + 1);
  const isNegated = /^(not|i|does_not)_/.test(condition) && condition !== "not_eq";
  if (isKnown && !isNegated) return;
  throw badRequest(messages.filter_unknown(showName(last), field, conditions.join(", ")));
}

/** Parses a filter's value. Returns undefined for an invalid boolean. */
function readValue(
  values: readonly string[],
  kind: FieldKind,
  condition: OfferedCondition,
): TestValue | undefined {
  if (condition === "in") return values.map((value) => castValue(value, kind, condition));
  const [value = ""] = values;
  return isOfFlag(condition) ? readFlag(value) : castValue(value, kind, condition);
}

function isOfFlag(condition: OfferedCondition): boolean {
  return condition === "null" || condition === "present" || condition === "empty";
}

function castValue(text: string, kind: FieldKind, condition: OfferedCondition) {
  if (kind === "path" && condition !== "cont") {
    return keepStorable(condition === "start" ? decodeForSearch(text) : normalizeForSearch(text));
  }
  if (kind === "integer" && !isTextual(condition)) return readInteger(text);
  return kind === "time" && !isTextual(condition) ? parseTime(text) : keepStorable(text);
}

/** Returns null for text that the database cannot store, because no row can match it. */
function keepStorable(text: string): string | null {
  return isStorable(text) ? text : null;
}

/** Parses an integer like Ruby's `to_i`: the leading digits, or 0. */
function readInteger(text: string): number {
  const [digits = "0"] = /^[+-]?\d+(_\d+)*/.exec(text) ?? [];
  const { MAX_SAFE_INTEGER, MIN_SAFE_INTEGER } = Number;
  const number = Number(digits.replaceAll("_", ""));
  return Math.min(Math.max(number, MIN_SAFE_INTEGER), MAX_SAFE_INTEGER);
}

/** Parses `name desc`. Ascending is the default. Returns undefined for an unknown field. */
function readSort(text: string, fields: FilterFields): Sort | undefined {
  const [, field = "", direction = ""] = /^(\S+)\s*(.*)$/.exec(text) ?? [];
  if (!Object.hasOwn(fields, field)) return undefined;
  return { field, direction: direction.toLowerCase() === "desc" ? "desc" : "asc" };
}

type OwnFilters = Pick<RequestedList, "filters" | "search" | "applied">;

/** Parses `f[field_condition]` and `f[search]`. Unknown names are rejected. */
function readOwnFilters(query: URLSearchParams, fields: FilterFields): OwnFilters {
  const { given, malformed } = groupByName(query, "f");
  for (const name of malformed) {
    if (name !== "f") throw refuseOwn(name.slice(2).replace(/\]$/, ""), nameKnown(fields));
  }
  const isSearched = Object.keys(fields).length > 0;
  let search: string | undefined;
  const filters: Filter[] = [];
  for (const [name, values] of given) {
    if (isSearched && name === searchName) search = readSearch(values);
    else filters.push({ join: "and", tests: [readOwnTest(name, values, fields)] });
  }
  return { filters, search, applied: [...given.keys()] };
}

function readOwnTest(name: string, values: readonly string[], fields: FilterFields): FieldTest {
  const { condition, subject: field } = splitName(name, offeredConditions) ?? {};
  const kind = field !== undefined && Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (condition === undefined || field === undefined || kind === undefined) {
    throw refuseOwn(name, nameKnown(fields));
  }
  if (values.some((value) => value === "")) throw refuseOwn(name, "needs a value");
  if (!values.every(isStorable)) {
    throw refuseOwn(name, "contains characters that cannot be stored");
  }
  if (condition !== "in" && values.length > 1) throw refuseOwn(name, "takes one value");
  const value = readValue(values, kind, condition);
  if (value === undefined) throw refuseOwn(name, "takes true or false");
  if (condition !== "empty") return { field, kind, condition, value };
  return { field, kind, condition: "present", value: value !== true };
}

function nameKnown(fields: FilterFields): string {
  const names = Object.keys(fields).join(", ");
  if (names === "") return "does not exist: this list has no filters";
  const known = offeredConditions.join(", ");
  return `does not exist. Use ${searchName}, or one of ${names}, then _ and one of ${known}`;
}

function readSearch([text = "", ...more]: readonly string[]): string {
  const fault = more.length > 0 ? "takes one value" : findSearchFault(text);
  if (fault !== undefined) throw refuseOwn(searchName, fault);
  return text;
}

function refuseOwn(name: string, fault: string): Problem {
  return new Problem(422, messages.own_filter_invalid(showName(name), fault));
}

/** Parses a boolean as Ransack does. Returns undefined for other values. */
export function readFlag(word: string): boolean | undefined {
  if (/^(?:1|t|true)$/i.test(word)) return true;
  return /^(?:0|f|false)$/i.test(word) ? false : undefined;
}
