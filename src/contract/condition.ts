import type { JsonObject } from "./json.ts";

/**
 * The state that a record must have for a write to succeed. Works like If-Match (RFC 9110, section
 * 13).
 */
export type WriteCondition =
  /** The target must be unchanged since the approver saw it. */
  | { readonly shown: JsonObject }
  | "absent"
  /** The target must exist, but may have changed. */
  | "present";

/** Drops the fields that may change while an approval request is open, such as `clicks`. */
export function pickLasting(record: JsonObject): JsonObject {
  const { clicks: _clicks, links_count: _count, updated_at: _time, ...lasting } = record;
  return lasting;
}

export function isLasting(field: string): boolean {
  return field in pickLasting({ [field]: null });
}

type Template = { readonly body: string; readonly css: string };

/** The parts of a page template that an approval request shows: the draft and the live version. */
export function describeTemplateState(
  draft: Template | undefined,
  live_id: string | null,
): JsonObject {
  return draft === undefined ? { live_id } : { body: draft.body, css: draft.css, live_id };
}
