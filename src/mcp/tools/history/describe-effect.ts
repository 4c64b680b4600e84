import type * as z from "zod";
import { pickLasting } from "../../../contract/condition.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { PageTemplate } from "../../../contract/page-template.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { isSame } from "../../../contract/rules/writable-fields.ts";
import { isBlank, isStorable } from "../../../contract/text.ts";
import type { Effect, Target } from "../../../state/history.ts";
import type { Reading } from "../endpoints/find-record.ts";

/** What a write has done, from what was there before it and what was there after it. */

/** Of what was changed only the fields that changed are kept, of the rest everything. */
export function describeEffect(
  resource: ResourceKind,
  id: string | null,
  before: Reading,
  after: JsonObject | null,
): Effect {
  const { name: kind } = resource;
  const keep = (record: JsonObject) => keepKnown(resource, record);
  if (before === undefined) return { kind, id, after: after && keep(after) };
  if (before === null || after === null) {
    return { kind, id, before: before && keep(before), after: after && keep(after) };
  }
  const names = Object.keys({ ...keep(before), ...keep(after) });
  const changed = names.filter((name) => !isSame(before[name], after[name]));
  return { kind, id, before: pick(before, changed), after: pick(after, changed) };
}

/** Of a template its draft, and what is live; a template that is not there yet has neither. */
export function readTemplateRecord({ body, css, live_version }: PageTemplate): JsonObject {
  return { body, css, live: live_version && { body: live_version.body, css: live_version.css } };
}

export function pick(record: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, record[name] ?? null]));
}

/** By what a person knows the target. */
export function nameTarget(
  { name: kind, names, key }: ResourceKind,
  id: string | null,
  record: JsonObject,
): Target {
  const readText = (field: string | undefined) => {
    const value = record[field ?? ""];
    return typeof value === "string" && !isBlank(value) && isStorable(value) ? value : null;
  };
  const name = names.map(readText).find((text) => text !== null) ?? null;
  return { kind, target_id: id, target_key: readText(key ?? names.at(-1)), name };
}

/** What a deployment adds to a record nobody can put back, and times change with every write. */
export function keepKnown({ name, show }: ResourceKind, record: JsonObject): JsonObject {
  // Every resource's response is an object of named members.
  const { shape } = show.response as z.ZodObject;
  const known = name === "page_template" ? ["body", "css", "live"] : Object.keys(shape);
  const kept = known.filter((field) => record[field] !== undefined);
  return pickLasting(Object.fromEntries(kept.map((field) => [field, record[field]])));
}
