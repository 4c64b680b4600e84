import { isJsonObject, type JsonObject } from "../../contract/json.ts";

/**
 * A record without the members that say nothing: what is not there is empty or false, and a model
 * pays for every word. The items of a list stay, for each has its place.
 */
export function dropEmpty(record: JsonObject, levels = mostLevels): JsonObject {
  const kept: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(record)) {
    const value = dropIn(given, levels - 1);
    // To set this one would set what the record inherits from.
    if (!isEmpty(value) && name !== "__proto__") kept[name] = value;
  }
  return kept;
}

/** The same within any value. */
export function dropIn(value: unknown, levels = mostLevels): unknown {
  if (levels === 0) return value;
  if (Array.isArray(value)) return value.map((item) => dropIn(item, levels - 1));
  return isJsonObject(value) ? dropEmpty(value, levels) : value;
}

/** Deeper than anything that the API answers; what a deployment adds may be deeper. */
const mostLevels = 8;

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}
