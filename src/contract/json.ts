import { limits } from "./limits.ts";

/** Checks values that were parsed from JSON. */

/** A JSON object whose members are unchecked. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether JSON is nested deeper than the API allows. Iterative, to avoid a stack overflow. */
export function isNestedTooDeep(value: unknown): boolean {
  let level = listInner([value]);
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth >= limits.json_levels) return true;
    level = level.flatMap((container) => listInner(Object.values(container)));
  }
  return false;
}

function listInner(values: readonly unknown[]): readonly object[] {
  return values.filter((value) => typeof value === "object" && value !== null);
}
