import {
  takes,
  type FieldKind,
  type FilterFields,
  type FilterInput,
  type ListInput,
} from "../contract/filters.ts";
import { refuseArguments } from "./failure.ts";
import type { CallProblem } from "./problems.ts";

/**
 * The API ignores a filter that it cannot read, and answers with everything. Such a filter is
 * refused here, before it is sent.
 */
export function checkFilters(
  tool: string,
  fields: FilterFields,
  { filters = [] }: ListInput,
): void {
  const problems = filters.flatMap((filter, index) => {
    const kind = fields[filter.field];
    const fault = kind === undefined ? "is no field" : findFault(kind, filter);
    return fault === undefined ? [] : [describeFault(index, filter, fault)];
  });
  if (problems.length > 0) throw refuseArguments(tool, problems);
}

function findFault(kind: FieldKind, { condition, value }: FilterInput): string | undefined {
  if (!takes(kind, condition)) return `does not take ${condition}, as it is no text`;
  if (condition === "null" || condition === "present") {
    return typeof value === "boolean" ? undefined : `needs true or false with ${condition}`;
  }
  if (typeof value === "boolean") return `takes no boolean with ${condition}`;
  if (Array.isArray(value) !== (condition === "in")) {
    return condition === "in" ? "needs a list with in" : `takes one value with ${condition}`;
  }
  // What is no list by now is one value.
  const values = Array.isArray(value) ? value : [value as string | number];
  if (values.length === 0) return "needs at least one value";
  const faults = values.map((item) => findValueFault(kind, String(item)));
  return faults.find((fault) => fault !== undefined);
}

function findValueFault(kind: FieldKind, value: string): string | undefined {
  if (value.trim() === "") return "needs a value; for what is empty use present with false";
  if (kind === "integer" && !/^\s*[+-]?\d+\s*$/.test(value)) return "needs a whole number";
  const isTime = /^\d{4}-\d{2}-\d{2}/.test(value) && !Number.isNaN(Date.parse(value));
  if (kind === "time" && !isTime) return "needs a date or time such as 2026-03-01T12:00:00Z";
  return undefined;
}

function describeFault(index: number, { field }: FilterInput, fault: string): CallProblem {
  return { field: `filters.${index}`, message: `the filter on ${field} ${fault}` };
}
