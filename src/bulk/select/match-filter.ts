import { CallFailure } from "../../client/call-failure.ts";
import {
  isTextual,
  linkFilters,
  toPlainFilter,
  type FilterCondition,
  type FieldKind,
  type FilterFields,
  type FilterInput,
} from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { parseTime } from "../../contract/local-time.ts";
import { decodeForSearch, normalizeForSearch } from "../../contract/rules/link-path.ts";
import { fold } from "../../contract/text.ts";
import type { ServerAccess } from "../owner.ts";

/** Returns undefined if the record does not show whether it matches. */
export type Matcher = (record: JsonObject) => boolean | undefined;

/**
 * Creates a function that checks whether a record matches a filter, because a remote server that
 * does not support a filter returns everything. The result is undefined if the record lacks the
 * field, and for the order of texts, which differs between servers.
 */
export function createMatcher(
  fields: FilterFields,
  filter: FilterInput,
  compareTexts?: Compare,
): Matcher {
  const { field, condition, value } = toPlainFilter(filter);
  const declared = fields[field];
  if (declared === undefined) return () => undefined;
  // Text conditions search numbers and times in their printed form.
  const kind = isTextual(condition) && declared !== "path" ? "text" : declared;
  const test = createTest(kind, condition, value, compareTexts);
  return (record) => {
    const found = record[field];
    if (found === undefined) return undefined;
    if (condition === "null") return (found === null) === value;
    if (condition === "present") return (found === null || found === "") !== value;
    return found === null ? false : test?.(readValue(found, kind));
  };
}

type Comparable = string | number | null;
type Compare = (one: string | number, other: string | number) => number;

const compareNumbers: Compare = (one, other) => Number(one) - Number(other);

/** What each condition requires of the difference between the held value and the wanted one. */
const orders: Readonly<Partial<Record<FilterCondition, (difference: number) => boolean>>> = {
  gt: (difference) => difference > 0,
  gteq: (difference) => difference >= 0,
  lt: (difference) => difference < 0,
  lteq: (difference) => difference <= 0,
};

/** Undefined for texts if their order is unknown. */
function createTest(
  kind: FieldKind,
  condition: FilterCondition,
  value: FilterInput["value"],
  compareTexts: Compare | undefined,
): ((held: Comparable) => boolean) | undefined {
  const items = [value].flat().map((item) => readWanted(item, kind, condition));
  const [wanted = null] = items;
  const isInOrder = orders[condition];
  if (isInOrder !== undefined) {
    const compare = kind === "text" || kind === "path" ? compareTexts : compareNumbers;
    if (compare === undefined) return undefined;
    return (held) => held !== null && wanted !== null && isInOrder(compare(held, wanted));
  }
  const folded = fold(String(wanted));
  const known = new Set(items.filter((item) => item !== null));
  switch (condition) {
    case "cont":
      return (held) => fold(String(held)).includes(folded);
    case "start":
      return (held) => fold(String(held)).startsWith(folded);
    case "not_eq":
      // An unreadable value differs from every value.
      return (held) => held !== wanted;
    default:
      return (held) => held !== null && known.has(held);
  }
}

function readWanted(value: unknown, kind: FieldKind, condition: FilterCondition): Comparable {
  const text = String(value).trim();
  if (kind !== "path") return readValue(text, kind);
  if (condition === "cont") return text;
  return condition === "start" ? decodeForSearch(text) : normalizeForSearch(text);
}

function readValue(value: unknown, kind: FieldKind): Comparable {
  if (kind === "integer") return Number(value);
  return kind === "time" ? parseTime(String(value)) : String(value);
}

/**
 * Throws when a link does not match the filters: a server answers a filter that it does not know
 * with every link.
 */
export function createFilterCheck(asking: ServerAccess) {
  const known = new Set<string>();
  return async (rows: readonly ReadLink[], filters: readonly FilterInput[]): Promise<void> => {
    for (const filter of filters) {
      const name = `${filter.field} ${filter.condition}`;
      const matches = new Set(rows.map(createMatcher(linkFilters, filter)));
      if (matches.has(false)) throw refuseFilter(name);
      if (!matches.has(undefined) || known.has(name)) continue;
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
 * Where a link does not show what was asked of it, the deployment is asked for what no link can be:
 * it answers nothing exactly when it has understood.
 */
async function isKnown({ call, signal }: ServerAccess, filter: FilterInput): Promise<boolean> {
  for (const filters of contradict(filter)) {
    if ((await call(links.index, { limit: 1, filters }, signal)).links.length > 0) return false;
  }
  return true;
}

/** Each condition with its opposite; a null matches neither of the two. */
const opposites: Readonly<Partial<Record<FilterCondition, FilterCondition>>> = {
  not_eq: "eq",
  gt: "lteq",
  lteq: "gt",
  lt: "gteq",
  gteq: "lt",
};

function contradict(asked: FilterInput): readonly (readonly FilterInput[])[] {
  const filter = toPlainFilter(asked);
  const { field, condition } = filter;
  if (condition === "null") return [[filter, { ...filter, condition: "present" }]];
  if (condition === "present") return [[filter, { ...filter, condition: "null" }]];
  const opposite = opposites[condition];
  if (opposite !== undefined) {
    const missing = { field, condition: "null", value: true } as const;
    return [
      [filter, { ...filter, condition: opposite }],
      [filter, missing],
    ];
  }
  const value = field === "created_at" ? "1000-01-01" : "waypost asks for what no link has";
  return [[{ ...filter, value: condition === "in" ? [value] : value }]];
}
