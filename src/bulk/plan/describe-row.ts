import type { PlanRow } from "../../state/plans.ts";
import { quote } from "../../text/show-hidden.ts";

/** A planned row as the assistant, a form, a page and the terminal show it. */
type RowText = {
  /** The link by its path, or else by its id. */
  readonly target: string;
  readonly name: string | undefined;
  /** The name and clicks that an existing link has. */
  readonly about: readonly string[];
  /** An unknown value has an undefined `from`; every old value of a new link is null. */
  readonly changes: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
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
