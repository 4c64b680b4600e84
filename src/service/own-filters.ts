import {
  askedConditions,
  internalLinkFilters,
  searchName,
  toPlainFilter,
  type Filter,
  type FilterFields,
  type FilterInput,
} from "../contract/filters.ts";
import { messages } from "../contract/messages.ts";
import { parseTime } from "../contract/parse-time.ts";
import { Problem } from "../contract/problem.ts";
import { findSearchFault } from "../contract/rules/read-search.ts";
import { isStorable } from "../contract/text.ts";
import { quote } from "../text/show-hidden.ts";
import { groupByName } from "./grouped-parameters.ts";
import { readFlag } from "./read-flag.ts";

export type OwnFilters = {
  readonly filters: readonly Filter[];
  readonly search: string | undefined;
  /** The names of all of them. */
  readonly applied: readonly string[];
};

/**
 * `f[field_condition]` and `f[search]`, which the specification does not have. What is not
 * understood is refused: nobody sends it who does not mean this service.
 */
export function readOwnFilters(query: URLSearchParams, fields: FilterFields): OwnFilters {
  const { given, strange } = groupByName(query, "f");
  for (const name of strange) {
    if (name !== "f") throw refuse(name.slice(2).replace(/\]$/, ""), nameKnown(fields));
  }
  // Almost no request has one.
  if (given.size === 0) return none;
  const isSearched = Object.keys(fields).length > 0;
  let search: string | undefined;
  const filters: Filter[] = [];
  for (const [name, values] of given) {
    if (isSearched && name === searchName) search = readText(values);
    else filters.push({ join: "and", tests: [readTest(name, values, fields)] });
  }
  return { filters, search, applied: [...given.keys()] };
}

const none: OwnFilters = { filters: [], search: undefined, applied: [] };

type Test = Filter["tests"][number];

function readTest(name: string, values: readonly string[], fields: FilterFields): Test {
  if (name === changedBefore && Object.keys(fields).length > 0) return readUpdated(name, values);
  for (const [field, kind] of Object.entries(fields)) {
    for (const condition of askedConditions) {
      if (name !== `${field}_${condition}`) continue;
      const value = readValue(name, condition, values);
      return { ...toPlainFilter({ field, condition, value }), kind };
    }
  }
  throw refuse(name, nameKnown(fields));
}

const changedBefore = "updated_at_lt";

/** The one internal filter. Messages that list the known filters leave it out. */
function readUpdated(name: string, values: readonly string[]): Test {
  const value = parseTime(String(readValue(name, "lt", values)));
  return { field: "updated_at", kind: internalLinkFilters.updated_at, condition: "lt", value };
}

function nameKnown(fields: FilterFields): string {
  const names = Object.keys(fields).join(", ");
  if (names === "") return "does not exist: this list has no filters";
  const conditions = askedConditions.join(", ");
  return `does not exist. Use ${searchName}, or one of ${names}, then _ and one of ${conditions}`;
}

function readValue(
  name: string,
  condition: FilterInput["condition"],
  values: readonly string[],
): FilterInput["value"] {
  if (values.some((value) => value === "")) throw refuse(name, "needs a value");
  if (!values.every(isStorable)) throw refuse(name, "contains characters that cannot be stored");
  if (condition === "in") return values;
  const [value = "", ...more] = values;
  if (more.length > 0) throw refuse(name, "takes one value");
  if (condition !== "null" && condition !== "present" && condition !== "empty") return value;
  const flag = readFlag(value);
  if (flag === undefined) throw refuse(name, "takes true or false");
  return flag;
}

function readText([text = "", ...more]: readonly string[]): string {
  const fault = more.length > 0 ? "takes one value" : findSearchFault(text);
  if (fault !== undefined) throw refuse(searchName, fault);
  return text;
}

function refuse(name: string, fault: string): Problem {
  const shown = quote(name).slice(1, -1);
  return new Problem(422, messages.own_filter_invalid(shown, fault));
}
