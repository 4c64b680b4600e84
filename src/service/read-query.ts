import type { Endpoint } from "../contract/endpoint.ts";
import {
  askedConditions,
  conditions,
  internalLinkFilters,
  isTextual,
  searchName,
  type AskedCondition,
  type AskedList,
  type FieldKind,
  type FilterFields,
  type Filter,
  type Sort,
  type Test,
  type TestValue,
} from "../contract/filters.ts";
import { paging } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import { parseTime } from "../contract/parse-time.ts";
import { badRequest, Problem } from "../contract/problem.ts";
import { decodeForSearch, normalizeForSearch } from "../contract/rules/link-path.ts";
import { findSearchFault } from "../contract/rules/read-search.ts";
import { isStorable } from "../contract/text.ts";
import { showName } from "../text/show-hidden.ts";
import { keyParameter } from "./authenticate.ts";
import { readFlag } from "./read-flag.ts";

export type ReadQuery = {
  readonly list: AskedList | null;
  /** The parameters of an endpoint that is no list. */
  readonly named: Readonly<Record<string, string>> | null;
  /** The names in `q` that say nothing here. */
  readonly ignored: readonly string[];
};

/** What an endpoint understands of the query of an address. */
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

/** The specification has none of these, so an empty or repeated one is refused as a mistake. */
function readNamed(query: URLSearchParams, names: readonly string[]) {
  const named = names.flatMap((name) => {
    const [value, ...more] = query.getAll(name);
    if (more.length > 0) throw new Problem(422, messages.parameter_repeated(name));
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(named);
}

/** More are of no use to a person. */
const mostNamed = 20;

type Known = {
  readonly known: readonly string[];
  readonly ignored: readonly string[];
  readonly isSelecting: boolean;
};

/**
 * An endpoint of our own that ignored a parameter would answer as if it had applied it. The
 * specification's lists ignore unknown parameters, as it says.
 */
function refuseUnknown(query: URLSearchParams, { known, ignored, isSelecting }: Known): void {
  const all = new Set([keyParameter, ...known]);
  const strays = [...query.keys()].filter(
    (name) => !all.has(name) && !(isSelecting && isFilter(name)),
  );
  const filters = ignored.map((name) => (/^q$|\[/.test(name) ? name : `q[${name}]`));
  const names = [...new Set([...strays, ...filters])].slice(0, mostNamed).map(showName);
  if (names.length === 0) return;
  const kinds = isSelecting ? ["q[field_condition]", "f[field_condition]"] : [];
  throw new Problem(422, messages.query_unknown(names.join(", "), [...known, ...kinds].join(", ")));
}

/** `q[s]` sorts, which only lists do. */
function isFilter(name: string): boolean {
  return /^[qf]\[/.test(name) && !name.startsWith("q[s]");
}

/**
 * The query of a list: `page`, `limit`, `q[field_condition]` and `q[s]`, read as Ransack and pagy
 * read them (link-services.md §2). A field that is not listed is ignored, as the spec says. A
 * condition that a listed field does not have is refused: ignored, it would answer with everything.
 */
function readList(
  query: URLSearchParams,
  { filters: fields, own = {} }: NonNullable<Endpoint["list"] | Endpoint["selects"]>,
): { readonly list: AskedList; readonly ignored: readonly string[] } {
  const { given: all, strange } = groupByName(query, "q");
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
      ...strange,
    ],
  };
}

type Given = ReadonlyMap<string, readonly string[]>;

/**
 * The values of each `q[name]`, and of lists as clients write them: `q[name][]`, `q[name][0]`. Of a
 * name that is given twice the last counts. `strange` begins with the letter and is written in
 * another way.
 */
function groupByName(query: URLSearchParams, letter: "q" | "f") {
  const given = new Map<string, readonly string[]>();
  const strange = new Set<string>();
  for (const [key, value] of query) {
    if (!key.startsWith(letter)) continue;
    const [, name, list] = /^.\[([^[\]]+)\](\[\d*\])?$/.exec(key) ?? [];
    if (name === undefined) {
      if (/^.(\[|$)/.test(key)) strange.add(key);
      continue;
    }
    const group = list === undefined ? [] : (given.get(name) ?? []);
    given.set(name, [...group, value.trim()]);
  }
  return { given, strange };
}

/** A blank value says nothing, and neither does a name without another value. */
function dropBlanks(given: Given): Given {
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

/** `name_or_path_not_eq`: the longest condition at the end, and what it is about. */
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
  // A field that is named twice adds nothing, and a thousand of them would make a huge query.
  const tests = [...new Set(subject.split(joints))].map((field): Test | undefined => {
    const kind = Object.hasOwn(fields, field) ? fields[field] : undefined;
    const value = kind && readValue(values, kind, condition);
    return kind && value !== undefined ? { field, kind, condition, value } : undefined;
  });
  // With one unknown field, the whole filter is ignored.
  const known = tests.filter((test) => test !== undefined);
  return known.length === tests.length ? { join, tests: known } : undefined;
}

const joints = /_and_|_or_/;

/** `name_like` and `name_not_in` are meant for `name`; `name_tag_eq` may be another field's. */
function refuseUnknownCondition(name: string, isKnown: boolean, fields: FilterFields): void {
  const last = name.split(joints).at(-1) ?? "";
  const field = Object.keys(fields).find((known) => `${last}_`.startsWith(`${known}_`));
  if (field === undefined) return;
  const condition = last.slice(field.length + 1);
  const isNegated = /^(not|i|does_not)_/.test(condition) && condition !== "not_eq";
  if (isKnown && !isNegated) return;
  throw badRequest(messages.filter_unknown(showName(last), field, conditions.join(", ")));
}

/** Undefined where a flag could not be read. */
function readValue(
  values: readonly string[],
  kind: FieldKind,
  condition: AskedCondition,
): TestValue | undefined {
  if (condition === "in") return values.map((value) => castValue(value, kind, condition));
  const [value = ""] = values;
  return isOfFlag(condition) ? readFlag(value) : castValue(value, kind, condition);
}

function isOfFlag(condition: AskedCondition): boolean {
  return condition === "null" || condition === "present" || condition === "empty";
}

function castValue(text: string, kind: FieldKind, condition: AskedCondition) {
  if (kind === "path" && condition !== "cont") {
    return keepStorable(condition === "start" ? decodeForSearch(text) : normalizeForSearch(text));
  }
  if (kind === "integer" && !isTextual(condition)) return readInteger(text);
  return kind === "time" && !isTextual(condition) ? parseTime(text) : keepStorable(text);
}

/** A text that no row can hold is a value that could not be read. */
function keepStorable(text: string): string | null {
  return isStorable(text) ? text : null;
}

/** As Ruby's `to_i`: the number that the text begins with, or 0. */
function readInteger(text: string): number {
  const [digits = "0"] = /^[+-]?\d+(_\d+)*/.exec(text) ?? [];
  const { MAX_SAFE_INTEGER, MIN_SAFE_INTEGER } = Number;
  const number = Number(digits.replaceAll("_", ""));
  return Math.min(Math.max(number, MIN_SAFE_INTEGER), MAX_SAFE_INTEGER);
}

/** "name desc"; a missing or strange direction is ascending, an unknown field is no sort at all. */
function readSort(text: string, fields: FilterFields): Sort | undefined {
  const [, field = "", direction = ""] = /^(\S+)\s*(.*)$/.exec(text) ?? [];
  if (!Object.hasOwn(fields, field)) return undefined;
  return { field, direction: direction.toLowerCase() === "desc" ? "desc" : "asc" };
}

type OwnFilters = Pick<AskedList, "filters" | "search" | "applied">;

/**
 * `f[field_condition]` and `f[search]`, which the specification does not have. What is not
 * understood is refused: only a client that means this service sends it.
 */
function readOwnFilters(query: URLSearchParams, fields: FilterFields): OwnFilters {
  const { given, strange } = groupByName(query, "f");
  for (const name of strange) {
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

function readOwnTest(name: string, values: readonly string[], fields: FilterFields): Test {
  const { condition, subject: field } = splitName(name, askedConditions) ?? {};
  // Messages that list the known filters leave out the internal ones.
  const known = Object.keys(fields).length > 0 ? { ...fields, ...internalLinkFilters } : fields;
  const kind = field !== undefined && Object.hasOwn(known, field) ? known[field] : undefined;
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
  const known = askedConditions.join(", ");
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
