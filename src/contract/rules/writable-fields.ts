import * as z from "zod";
import type { Endpoint } from "../endpoint.ts";
import type { JsonObject } from "../json.ts";
import { unwrap } from "../fields.ts";

/**
 * Builds the input that writes a record back as it was read, so that undo can restore the record.
 */

/** Lists the members of a record that a call can change. The service sets the other members. */
export function listWritable(endpoint: Endpoint, record: JsonObject): readonly string[] {
  const fields = endpoint.body?.shape ?? {};
  return Object.keys(record).filter((name) => nameField(endpoint, name) in fields);
}

/** Responses contain `ios_app_id` where requests contain the object `ios_app`. */
export function nameField({ body }: Endpoint, member: string): string {
  return member in (body?.shape ?? {}) ? member : member.replace(/_id$/, "");
}

/** Lists the writable members whose values differ. A missing member equals null. */
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
 * Builds the input of a call that restores these members. An empty string clears a field, and an
 * unset boolean becomes false.
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

/** Like `writeBack`, for creating the record again. Members without a value are left out. */
export function writeAnew(endpoint: Endpoint, record: JsonObject): JsonObject {
  const filled = listWritable(endpoint, record).filter((name) => (record[name] ?? "") !== "");
  return writeBack(endpoint, record, filled);
}
