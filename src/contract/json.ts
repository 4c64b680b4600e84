import { limits } from "./limits.ts";

/** An object as JSON has it, whose members have not been checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Whether something stands further inside of a value than anything of ours does: what goes through
 * it step by step would come to the end of the stack. Looked at level by level, without that.
 */
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
