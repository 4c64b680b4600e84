import type { PlanRow } from "../../state/plans.ts";

/** What is not known of a link has an undefined `from`. */
type Change = { readonly from: unknown; readonly to: unknown };

/** Field by field, the old value and the new one; of a new link every old value is null. */
export function listChanges(row: PlanRow): Readonly<Record<string, Change>> | undefined {
  const { fields, before } = row;
  if (fields === null) return undefined;
  const members = Object.entries(fields).flatMap(([field, to]) => {
    // A link tells of its app by the app's id.
    const from = before === null ? null : (before[field] ?? before[`${field}_id`]);
    return from === (to === "" ? null : to) ? [] : [[field, { from, to }] as const];
  });
  return Object.fromEntries(members);
}
