import type * as z from "zod";
import { isLasting } from "../../../contract/condition.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { WrittenTemplate } from "../../../contract/page-template.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { isSame } from "../../../contract/rules/writable-fields.ts";
import { isBlank, isStorable } from "../../../contract/text.ts";
import type { Effect, Target } from "../../../state/history.ts";
import type { Reading } from "../targets.ts";

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
  if (before === null) return { kind, id, before, after: after && keep(after) };
  if (after === null) {
    const unknown = listShown(resource).filter((name) => before[name] === undefined);
    return { kind, id, before: keep(before), after, ...noteUnknown(unknown) };
  }
  const names = Object.keys({ ...keep(before), ...keep(after) });
  // Of what is not shown after it, nobody knows that it changed.
  const changed = names.filter(
    (name) => after[name] !== undefined && !isSame(before[name], after[name]),
  );
  const known = changed.filter((name) => before[name] !== undefined);
  const unknown = changed.filter((name) => before[name] === undefined);
  return {
    kind,
    id,
    before: pick(before, known),
    after: pick(after, changed),
    ...noteUnknown(unknown),
  };
}

function noteUnknown(unknown: readonly string[]): Pick<Effect, "unknown"> {
  return unknown.length === 0 ? {} : { unknown };
}

/** Of a template its draft, and what is live; a template that is not there yet has neither. */
export function readTemplateRecord({ body, css, live_version }: WrittenTemplate): JsonObject {
  const live = live_version && { body: live_version.body, css: live_version.css };
  const record = { body, css, live };
  const known = Object.entries(record).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known);
}

function pick(record: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, record[name] ?? null]));
}

/** What it became: what was answered and, where that does not tell, what was sent. */
export function completeBySent(
  { show }: ResourceKind,
  sent: JsonObject,
  answered: JsonObject,
): JsonObject {
  const { shape } = show.response as z.ZodObject;
  const told = Object.entries(sent).filter(([name]) => name in shape);
  return { ...Object.fromEntries(told), ...answered };
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
export function keepKnown(resource: ResourceKind, record: JsonObject): JsonObject {
  const kept = listShown(resource).filter((field) => record[field] !== undefined);
  return Object.fromEntries(kept.map((field) => [field, record[field]]));
}

function listShown({ name, show }: ResourceKind): readonly string[] {
  if (name === "page_template") return ["body", "css", "live"];
  // Every resource's response is an object of named members.
  return Object.keys((show.response as z.ZodObject).shape).filter(isLasting);
}
