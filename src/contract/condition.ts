import type { JsonObject } from "./json.ts";

/**
 * What must still hold when a write is carried out that was decided on by what was read: else
 * something would change that nobody has seen (RFC 9110, §13).
 */
export type Condition =
  /** The target is as it was shown. */
  | { readonly shown: JsonObject }
  /** There is none yet. */
  | "absent"
  /** A record exists, whatever it contains. */
  | "present";

/** A record without what changes by itself while a person thinks about it. */
export function pickLasting(record: JsonObject): JsonObject {
  const { clicks: _clicks, links_count: _count, updated_at: _time, ...lasting } = record;
  return lasting;
}

export function isLasting(field: string): boolean {
  return field in pickLasting({ [field]: null });
}

type Template = { readonly body: string; readonly css: string };

/** What is shown of a page template: its draft, and which version is live. */
export function describeTemplateState(
  draft: Template | undefined,
  live_id: string | null,
): JsonObject {
  return draft === undefined ? { live_id } : { body: draft.body, css: draft.css, live_id };
}
