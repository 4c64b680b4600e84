import type * as z from "zod";
import { isLasting } from "../../../contract/condition.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { WrittenTemplate } from "../../../contract/page-template.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { isSame } from "../../../contract/rules/writable-fields.ts";
import type { Effect } from "../../../state/history.ts";
import type { TargetRecord } from "../targets.ts";

/** The page template's ID in the history. Template versions have IDs of their own. */
export const templateId = "page_template";

/**
 * Describes the effect of a write: the changed fields of an updated record, or the whole record
 * that was created or deleted.
 */
export function describeEffect(
  resource: ResourceKind,
  id: string | null,
  before: TargetRecord,
  after: JsonObject | null,
): Effect {
  const target = { kind: resource.name, id };
  const keep = (record: JsonObject | null) => record && keepKnown(resource, record);
  if (before === undefined) return { ...target, after: keep(after) };
  if (before === null) return { ...target, before, after: keep(after) };
  if (after === null) {
    const unknown = listShown(resource).filter((name) => before[name] === undefined);
    return { ...target, before: keep(before), after, ...(unknown.length > 0 && { unknown }) };
  }
  // A field that the response omits may be unchanged, so it is not recorded.
  const changed = Object.keys({ ...keep(before), ...keep(after) }).filter(
    (name) => after[name] !== undefined && !isSame(before[name], after[name]),
  );
  const known = changed.filter((name) => before[name] !== undefined);
  const unknown = changed.filter((name) => before[name] === undefined);
  return {
    ...target,
    before: pick(before, known),
    after: pick(after, changed),
    ...(unknown.length > 0 && { unknown }),
  };
}

function pick(record: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, record[name] ?? null]));
}

/** Drops read-only fields. Also drops timestamps, because they change with every write. */
export function keepKnown(resource: ResourceKind, record: JsonObject): JsonObject {
  const kept = listShown(resource).filter((field) => record[field] !== undefined);
  return pick(record, kept);
}

function listShown({ name, show }: ResourceKind): readonly string[] {
  if (name === templateId) return ["body", "css", "live"];
  return Object.keys((show.response as z.ZodObject).shape).filter(isLasting);
}

export function readTemplateRecord({ body, css, live_version }: WrittenTemplate): JsonObject {
  const live = live_version && { body: live_version.body, css: live_version.css };
  const members = Object.entries({ body, css, live });
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}
