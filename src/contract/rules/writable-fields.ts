import * as z from "zod";
import type { Endpoint } from "../endpoint.ts";
import type { JsonObject } from "../json.ts";
import { unwrap } from "../fields.ts";

/** Writes a record back as it was read, so that undo can restore it. */

/** The members of a record that a call can change. The service sets the others. */
export function listWritable(endpoint: Endpoint, record: JsonObject): readonly string[] {
  const fields = endpoint.body?.shape ?? {};
  return Object.keys(record).filter((name) => nameField(endpoint, name) in fields);
}

/** A link returns the id of its app, but takes an object. */
export function nameField({ body }: Endpoint, member: string): string {
  return member in (body?.shape ?? {}) ? member : member.replace(/_id$/, "");
}

/** The members that differ. Null and missing are the same. */
export function listEdited(
  endpoint: Endpoint,
  before: JsonObject,
  now: JsonObject,
): readonly string[] {
  return listWritable(endpoint, before).filter((name) => !isSame(before[name], now[name]));
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/**
 * The fields of a call that restores these members. An empty text clears a field, and a switch that
 * was never set becomes false.
 */
export function writeBack(
  endpoint: Endpoint,
  record: JsonObject,
  names: readonly string[],
): JsonObject {
  const members = names.map((name) => {
    const field = nameField(endpoint, name);
    if (field === name) return [name, record[name] ?? describeUnset(endpoint, field)] as const;
    const id = record[name];
    return [field, typeof id === "string" ? { id } : null] as const;
  });
  return Object.fromEntries(members);
}

function describeUnset({ body }: Endpoint, field: string): false | "" {
  const schema = body?.shape[field];
  return schema !== undefined && unwrap(schema) instanceof z.ZodBoolean ? false : "";
}

/** Like `writeBack`, for a new record, which needs only the members that had a value. */
export function writeAnew(endpoint: Endpoint, record: JsonObject): JsonObject {
  const filled = listWritable(endpoint, record).filter((name) => (record[name] ?? "") !== "");
  return writeBack(endpoint, record, filled);
}
