import { isTextual } from "../../contract/filters.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { parseLocalTime, writeLocalTime, type TimeZone } from "../../contract/local-time.ts";

/** The API's times are UTC, and a user's are not: between the two they are told and read anew. */

const utcTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;

/** Every time in a result: what the API calls `created_at`, the history `at`, an access `since`. */
export function tellTimes<Value>(value: Value, zone: TimeZone | undefined): Value {
  // Most results have no time in them, and a look is cheaper than a copy.
  if (zone === undefined || !hasTime(value)) return value;
  // What is told anew keeps its form.
  return tellIn(value, zone) as Value;
}

function hasTime(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasTime);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([name, member]) => isTime(name, member) || hasTime(member));
}

function tellIn(value: unknown, zone: TimeZone): unknown {
  if (Array.isArray(value)) return value.map((item) => tellIn(item, zone));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => {
    const told = isTime(name, member)
      ? writeLocalTime(Date.parse(member), zone)
      : tellIn(member, zone);
    return [name, told];
  });
  return Object.fromEntries(members);
}

function isTime(name: string, member: unknown): member is string {
  return isTimeName(name) && typeof member === "string" && utcTime.test(member);
}

function isTimeName(name: string): boolean {
  return name === "at" || name === "since" || name.endsWith("_at");
}

/** A date in a filter is the user's: `2026-11-01` is that midnight on their clocks. */
export function readTimes(args: JsonObject, zone: TimeZone | undefined): JsonObject {
  const { filters } = args;
  if (zone === undefined || !Array.isArray(filters)) return args;
  return { ...args, filters: filters.map((filter: unknown) => readFilter(filter, zone)) };
}

function readFilter(filter: unknown, zone: TimeZone): unknown {
  if (!isJsonObject(filter) || !isTimeName(String(filter["field"]))) return filter;
  // A part of a time's text is no time.
  if (isTextual(String(filter["condition"]))) return filter;
  const { value } = filter;
  const read = (text: unknown) => readTime(text, zone);
  return { ...filter, value: Array.isArray(value) ? value.map(read) : read(value) };
}

function readTime(text: unknown, zone: TimeZone): unknown {
  const time = typeof text === "string" ? parseLocalTime(text.trim(), zone) : null;
  return time === null ? text : new Date(time).toISOString();
}
