import type { PlanRow } from "../../state/plans.ts";
import { quote } from "../../text/show-hidden.ts";

/** A planned row as assistant, form, page and terminal show it. */

/** What is not known of a link has an undefined `from`; of a new link every old value is null. */
type RowChange = { readonly from: unknown; readonly to: unknown };

export type RowText = {
  /** The link by its path, or else by its id. */
  readonly target: string;
  readonly name: string | undefined;
  /** The name and clicks that an existing link has. */
  readonly about: readonly string[];
  readonly changes: Readonly<Record<string, RowChange>>;
};

export function describeRow({ path, link_id, fields, before }: PlanRow): RowText {
  const { name: called, clicks } = { name: null, clicks: null, ...before };
  const name = typeof called === "string" && called !== "" ? called : undefined;
  const changes = Object.entries(fields ?? {}).flatMap(([field, to]) => {
    // A link shows only the id of its app.
    const from = before === null ? null : (before[field] ?? before[`${field}_id`]);
    return from === (to === "" ? null : to) ? [] : [[field, { from, to }] as const];
  });
  return {
    target: path ?? link_id ?? "",
    name,
    about: [
      ...(name === undefined ? [] : [`named ${quote(name)}`]),
      ...(typeof clicks === "number" ? [countClicks(clicks)] : []),
    ],
    changes: Object.fromEntries(changes),
  };
}

export function countClicks(count: number): string {
  return count === 1 ? "1 click" : `${count} clicks`;
}
