import type { PlanRow } from "../../state/plans.ts";
import { quote } from "../../text/show-hidden.ts";

/** Describes a planned row for the assistant, the approval page and the CLI. */
type RowText = {
  /** The link's path, or its id if the path is unknown. */
  readonly target: string;
  readonly name: string | undefined;
  /** The name and clicks of an existing link. */
  readonly about: readonly string[];
  /** `from` is undefined for an unknown value, and null for a new link. */
  readonly changes: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
};

export function describeRow({ path, link_id, fields, before }: PlanRow): RowText {
  const { name: called, clicks } = { name: null, clicks: null, ...before };
  const name = typeof called === "string" && called !== "" ? called : undefined;
  const changes = Object.entries(fields ?? {}).flatMap(([field, to]) => {
    // The API returns only the id of a link's app.
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
