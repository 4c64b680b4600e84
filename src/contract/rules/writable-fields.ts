import * as z from "zod";
import type { Endpoint } from "../endpoint.ts";
import type { JsonObject } from "../json.ts";
import { unwrap } from "../unwrap-schema.ts";

/** How a record that was read is written again, so that it becomes as it was. */

/** The members of a record that a call can change; the rest is the service's own. */
export function listWritable(endpoint: Endpoint, record: JsonObject): readonly string[] {
  const fields = endpoint.body?.shape ?? {};
  return Object.keys(record).filter((name) => nameField(endpoint, name) in fields);
}

/** A link tells of its app by the app's id, and takes it as an object. */
export function nameField({ body }: Endpoint, member: string): string {
  return member in (body?.shape ?? {}) ? member : member.replace(/_id$/, "");
}

/** Which of them are not what they were; what is unset is null, or not there at all. */
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
 * The fields of a call that gives a record these members back: an empty text takes one away, and a
 * switch that was never set is off.
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

/** The same for what is made anew: it lacks by itself what it lacked before. */
export function writeAnew(endpoint: Endpoint, record: JsonObject): JsonObject {
  const filled = listWritable(endpoint, record).filter((name) => (record[name] ?? "") !== "");
  return writeBack(endpoint, record, filled);
}
