import * as z from "zod";
import {
  fieldValues,
  isTextual,
  toPlainFilter,
  type FieldKind,
  type FilterFields,
  type FilterInput,
} from "../../contract/filters.ts";
import { parseTime } from "../../contract/local-time.ts";
import { isStorable } from "../../contract/text.ts";

/**
 * Checks filters before they are sent, because the API ignores an invalid filter and then returns
 * everything.
 */

/**
 * `in` takes a list, `null`, `present` and `empty` take a boolean, and every other condition takes
 * one value.
 */
export const filterValue = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.array(z.union([z.string(), z.number()])),
]);

const booleanConditions: ReadonlySet<string> = new Set(["null", "present", "empty"]);

/** Decodes a value that was sent as a JSON string, unless the filter's condition takes a string. */
export function decodeFilter<Filter extends FilterInput>(filter: Filter): Filter {
  const { condition, value } = filter;
  const takesText = condition !== "in" && !booleanConditions.has(condition);
  if (typeof value !== "string" || takesText) return filter;
  const decoded = filterValue.safeParse(parseJson(value));
  return decoded.success ? { ...filter, value: decoded.data } : filter;
}

/** Returns why the API would ignore a filter, as a phrase such as "needs a list with in". */
export function findFilterFault(
  fields: FilterFields,
  { field, condition, value }: FilterInput,
): string | undefined {
  const kind = fields[field];
  if (kind === undefined) return "is not a filter";
  if (booleanConditions.has(condition)) {
    return typeof value === "boolean" ? undefined : `needs true or false with ${condition}`;
  }
  if (typeof value === "boolean") return `does not take true or false with ${condition}`;
  const isList = typeof value === "object";
  if (isList !== (condition === "in")) {
    return isList ? `takes one value with ${condition}` : "needs a list with in";
  }
  const values = isList ? value : [value];
  if (values.length === 0) return "needs at least one value";
  const faults = values.map((item) =>
    findValueFault(isTextual(condition) ? "text" : kind, String(item).trim()),
  );
  return faults.find((fault) => fault !== undefined) ?? findChoiceFault(field, condition, values);
}

/** Returns an error phrase if a value is not in the field's fixed set of values. */
function findChoiceFault(
  field: string,
  condition: FilterInput["condition"],
  values: readonly unknown[],
): string | undefined {
  const known = fieldValues[field];
  if (known === undefined || !["eq", "not_eq", "in"].includes(condition)) return undefined;
  const isKnown = values.every((value) => known.includes(String(value).trim()));
  return isKnown ? undefined : `must be ${known.join(" or ")}`;
}

/**
 * Returns the positions of filters that repeat a field and condition. The API would use only the
 * last of them, or merge their lists.
 */
export function findRepeated(filters: readonly FilterInput[]): readonly number[] {
  const plain = filters.map(toPlainFilter);
  const names = plain.map(({ field, condition }) => `${field}_${condition}`);
  return [...names.keys()].filter((index) => names.indexOf(names[index] ?? "") < index);
}

function findValueFault(kind: FieldKind, value: string): string | undefined {
  if (value === "") return "needs a value; to find empty fields, use present with false";
  if (!isStorable(value)) return "has invalid characters";
  if (kind === "integer" && !/^[+-]?\d+$/.test(value)) return "needs a whole number";
  if (kind === "time" && parseTime(value) === null) {
    return "needs a date or time such as 2026-03-01T12:00:00Z";
  }
  return undefined;
}

/** Returns the text unchanged if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
