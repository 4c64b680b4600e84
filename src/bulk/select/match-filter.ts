import { CallFailure } from "../../client/call-failure.ts";
import {
  isTextual,
  linkFilters,
  toPlainFilter,
  type Condition,
  type FieldKind,
  type FilterFields,
  type FilterInput,
} from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { parseTime } from "../../contract/parse-time.ts";
import { decodeForSearch, normalizeForSearch } from "../../contract/rules/link-path.ts";
import { fold } from "../../contract/text.ts";
import type { Asking } from "../owner.ts";

/** Undefined where the record does not tell. */
export type Matcher = (record: JsonObject) => boolean | undefined;

/**
 * Whether a record is one that a filter asked for: a deployment that does not know a filter
 * answers with everything (security-reliability.md §0). Undefined where the record does not tell,
 * and where texts are put in order, which each deployment does by an alphabet of its own.
 */
export function createMatcher(
  fields: FilterFields,
  filter: FilterInput,
  compareTexts?: CompareTexts,
): Matcher {
  const { field, condition, value } = toPlainFilter(filter);
  const kind = fields[field];
  if (kind === undefined) return () => undefined;
  const test = createTest(kind, condition, value, compareTexts);
  return (record) => {
    const found = record[field];
    if (found === undefined) return undefined;
    if (condition === "null") return (found === null) === value;
    if (condition === "present") return (found === null || found === "") !== value;
    if (found === null) return false;
    return test?.(readHeld(found, isTextual(condition) ? "text" : kind));
  };
}

type Comparable = string | number | null;
type Test = (held: Comparable) => boolean;

type CompareTexts = (one: string, other: string) => number;

/** Undefined for an order of texts that nobody knows. */
function createTest(
  kind: FieldKind,
  condition: Condition,
  value: FilterInput["value"],
  compareTexts: CompareTexts | undefined,
): Test | undefined {
  const items = [value].flat().map((item) => readWanted(item, kind, condition));
  if (condition === "in") {
    const wanted = new Set(items.filter((item) => item !== null));
    return (held) => held !== null && wanted.has(held);
  }
  const [wanted = null] = items;
  const folded = fold(String(wanted));
  switch (condition) {
    case "cont":
      return (held) => fold(String(held)).includes(folded);
    case "start":
      return (held) => fold(String(held)).startsWith(folded);
    case "eq":
      return (held) => wanted !== null && held === wanted;
    case "not_eq":
      // A value that could not be read differs from everything that is there.
      return (held) => held !== wanted;
    default:
      if (kind !== "text" && kind !== "path") return createOrder(condition, wanted);
      if (compareTexts === undefined) return undefined;
      return (held) => {
        const isAfter = createOrder(condition, 0);
        return isAfter(compareTexts(String(held), String(wanted)));
      };
  }
}

function createOrder(condition: Condition, wanted: Comparable): Test {
  return (held) => {
    if (held === null || wanted === null) return false;
    switch (condition) {
      case "gt":
        return held > wanted;
      case "gteq":
        return held >= wanted;
      case "lt":
        return held < wanted;
      default:
        return held <= wanted;
    }
  };
}

function readWanted(value: unknown, kind: FieldKind, condition: Condition): Comparable {
  const text = String(value).trim();
  if (kind === "integer" && !isTextual(condition)) return Number(text);
  if (kind === "time" && !isTextual(condition)) return parseTime(text);
  if (kind !== "path" || condition === "cont") return text;
  return condition === "start" ? decodeForSearch(text) : normalizeForSearch(text);
}

function readHeld(value: unknown, kind: FieldKind): Comparable {
  if (kind === "integer") return Number(value);
  return kind === "time" ? parseTime(String(value)) : String(value);
}

/** A deployment answers a filter that it does not know with everything, so answers are checked. */

/** Throws where links came that the filters do not name. */
export type FilterCheck = (
  rows: readonly ReadLink[],
  filters: readonly FilterInput[],
) => Promise<void>;

export function createFilterCheck(asking: Asking): FilterCheck {
  const known = new Set<string>();
  return async (rows, filters) => {
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
async function isKnown({ call, signal }: Asking, filter: FilterInput): Promise<boolean> {
  for (const filters of contradict(filter)) {
    if ((await call(links.index, { limit: 1, filters }, signal)).links.length > 0) return false;
  }
  return true;
}

/** Each condition with its opposite; a null matches neither of the two. */
const opposites: Readonly<Partial<Record<Condition, Condition>>> = {
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
