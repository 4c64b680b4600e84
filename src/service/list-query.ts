import type { Endpoint } from "../contract/endpoint.ts";
import {
  conditions,
  isTextual,
  type AskedList,
  type Condition,
  type FieldKind,
  type FilterFields,
  type Filter,
  type Sort,
  type TestValue,
} from "../contract/filters.ts";
import { paging } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import { parseTime } from "../contract/parse-time.ts";
import { badRequest, type Problem } from "../contract/problem.ts";
import { decodeForSearch, normalizeForSearch } from "../contract/rules/link-path.ts";
import { isStorable } from "../contract/text.ts";
import { quote } from "../text/show-hidden.ts";
import { groupByName } from "./grouped-parameters.ts";
import { readOwnFilters } from "./own-filters.ts";
import { readFlag } from "./read-flag.ts";

export type ReadListQuery = {
  readonly list: AskedList;
  /** The names in `q` that say nothing here. */
  readonly ignored: readonly string[];
};

/**
 * The query of a list: `page`, `limit`, `q[field_condition]` and `q[s]`, read as Ransack and pagy
 * read them (link-services.md §2). A field that is not listed is ignored, as the spec says. A
 * condition that a listed field does not have is refused: ignored, it would answer with everything.
 */
export function readListQuery(
  query: URLSearchParams,
  { filters: fields, own = {} }: NonNullable<Endpoint["list"] | Endpoint["selects"]>,
): ReadListQuery {
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

function readPositive(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.getAll(name).at(-1);
  if (text === undefined) return otherwise;
  if (!/^\d+$/.test(text) || !/[1-9]/.test(text)) throw badRequest(messages.not_positive(name));
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

/** A blank value says nothing, and no more does a name with no other. */
function dropBlanks(
  given: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, readonly string[]> {
  const filled = [...given].map(([name, values]) => {
    return [name, values.filter((value) => value !== "")] as const;
  });
  return new Map(filled.filter(([, values]) => values.length > 0));
}

function readFilter(
  name: string,
  values: readonly string[],
  fields: FilterFields,
): Filter | undefined {
  const condition = conditions
    .filter((candidate) => name.endsWith(`_${candidate}`))
    .toSorted((one, other) => other.length - one.length)[0];
  refuseUnknown(name, condition !== undefined, fields);
  if (condition === undefined) return undefined;
  const subject = name.slice(0, -condition.length - 1);
  const join = /_(and|or)_/.exec(subject)?.[1] === "or" ? "or" : "and";
  // A field that is named twice adds nothing, and a thousand of them would make a huge query.
  const tests = [...new Set(subject.split(joints))].map((field) => {
    const kind = readKind(field, fields);
    if (kind === undefined) return undefined;
    const value = readValue(values, kind, condition);
    return value === undefined ? undefined : { field, kind, condition, value };
  });
  // With one unknown field, the whole filter is ignored.
  const known = tests.filter((test) => test !== undefined);
  return known.length === tests.length ? { join, tests: known } : undefined;
}

const joints = /_and_|_or_/;

function readKind(field: string, fields: FilterFields): FieldKind | undefined {
  return Object.hasOwn(fields, field) ? fields[field] : undefined;
}

/** `name_like` and `name_not_in` are meant for `name`; `name_tag_eq` may be another field's. */
function refuseUnknown(name: string, isKnown: boolean, fields: FilterFields): void {
  const last = name.split(joints).at(-1) ?? "";
  const field = Object.keys(fields).find((known) => `${last}_`.startsWith(`${known}_`));
  if (field === undefined) return;
  const condition = last.slice(field.length + 1);
  const isNegated = /^(not|i|does_not)_/.test(condition) && condition !== "not_eq";
  if (!isKnown || isNegated) throw refuse(last, field);
}

function refuse(filter: string, field: string): Problem {
  const name = quote(filter).slice(1, -1);
  return badRequest(messages.filter_unknown(name, field, conditions.join(", ")));
}

function readValue(
  values: readonly string[],
  kind: FieldKind,
  condition: Condition,
): TestValue | undefined {
  if (condition === "in") return values.map((value) => castValue(value, kind, condition));
  const [value = ""] = values;
  if (condition === "null" || condition === "present") return readFlag(value);
  return castValue(value, kind, condition);
}

function castValue(text: string, kind: FieldKind, condition: Condition): string | number | null {
  switch (kind) {
    case "text":
      return readStorable(text);
    case "path":
      if (condition === "cont") return readStorable(text);
      return readStorable(condition === "start" ? decodeForSearch(text) : normalizeForSearch(text));
    case "integer":
      return isTextual(condition) ? readStorable(text) : readInteger(text);
    case "time":
      return isTextual(condition) ? readStorable(text) : parseTime(text);
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
