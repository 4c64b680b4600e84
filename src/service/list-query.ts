import {
  conditions,
  takes,
  type Condition,
  type FieldKind,
  type FilterFields,
  type Filter,
  type ListQuery,
  type Sort,
  type TestValue,
} from "../contract/filters.ts";
import { paging } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import { parseTime } from "../contract/parse-time.ts";
import { badRequest } from "../contract/problem.ts";
import { normalizeForSearch } from "../contract/rules/link-path.ts";
import { isStorable } from "../contract/text.ts";

/**
 * The query of a list: `page`, `limit`, `q[field_condition]` and `q[s]`, read as Ransack and pagy
 * read them (link-services.md §2). What is not understood in `q` is ignored, as the spec says.
 */
export function readListQuery(query: URLSearchParams, fields: FilterFields): ListQuery {
  const given = groupByName(query);
  if (given.size > paging.max_filters) throw badRequest(messages.too_many_filters);
  return {
    page: readPositive(query, "page", 1),
    limit: Math.min(readPositive(query, "limit", paging.default_limit), paging.max_limit),
    filters: [...given].flatMap(([name, values]) => readFilter(name, values, fields) ?? []),
    sorts: (given.get("s") ?? []).flatMap((text) => readSort(text, fields) ?? []),
  };
}

const trueWords = new Set(["1", "t", "T", "true", "TRUE"]);
const falseWords = new Set(["0", "f", "F", "false", "FALSE"]);

function readPositive(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.getAll(name).at(-1);
  if (text === undefined) return otherwise;
  if (!/^\d+$/.test(text) || !/[1-9]/.test(text)) throw badRequest(messages.not_positive(name));
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

/** The values of each `q[name]` and `q[name][]`; of a name that is given twice the last counts. */
function groupByName(query: URLSearchParams): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const [key, value] of query) {
    const [, name, list] = /^q\[([^[\]]+)\](\[\])?$/.exec(key) ?? [];
    if (name === undefined) continue;
    const group = list === undefined ? [] : (groups.get(name) ?? []);
    groups.set(name, [...group, value.trim()]);
  }
  for (const [name, values] of groups) {
    const filled = values.filter((value) => value !== "");
    if (filled.length === 0) groups.delete(name);
    else groups.set(name, filled);
  }
  return groups;
}

function readFilter(
  name: string,
  values: readonly string[],
  fields: FilterFields,
): Filter | undefined {
  const condition = conditions
    .filter((candidate) => name.endsWith(`_${candidate}`))
    .toSorted((one, other) => other.length - one.length)[0];
  if (condition === undefined) return undefined;
  const subject = name.slice(0, -condition.length - 1);
  const join = /_(and|or)_/.exec(subject)?.[1] === "or" ? "or" : "and";
  // A field that is named twice adds nothing, and a thousand of them would make a huge query.
  const tests = [...new Set(subject.split(/_and_|_or_/))].map((field) => {
    const kind = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (kind === undefined || !takes(kind, condition)) return undefined;
    const value = readValue(values, kind, condition);
    return value === undefined ? undefined : { field, kind, condition, value };
  });
  // With one unknown field, the whole filter is ignored.
  const known = tests.filter((test) => test !== undefined);
  return known.length === tests.length ? { join, tests: known } : undefined;
}

function readValue(
  values: readonly string[],
  kind: FieldKind,
  condition: Condition,
): TestValue | undefined {
  if (condition === "in") return values.map((value) => castValue(value, kind, condition));
  const [value = ""] = values;
  if (condition === "null" || condition === "present") {
    if (trueWords.has(value)) return true;
    return falseWords.has(value) ? false : undefined;
  }
  return castValue(value, kind, condition);
}

function castValue(text: string, kind: FieldKind, condition: Condition): string | number | null {
  switch (kind) {
    case "text":
      return readStorable(text);
    case "path":
      return readStorable(condition === "cont" ? text : normalizeForSearch(text));
    case "integer":
      return readInteger(text);
    case "time":
      return parseTime(text);
  }
}

/** A text that no row can hold is a value that could not be read. */
function readStorable(text: string): string | null {
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
