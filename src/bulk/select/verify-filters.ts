import { CallFailure } from "../../client/call-failure.ts";
import {
  linkFilters,
  toPlainFilter,
  type Condition,
  type FilterInput,
} from "../../contract/filters.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import type { Asking } from "../owner.ts";
import { createMatcher } from "./match-filter.ts";

/** A deployment answers a filter that it does not know with everything, so answers are checked. */

/** Throws where links came that the filters do not name. */
export type FilterCheck = (
  rows: readonly ReadLink[],
  filters: readonly FilterInput[],
) => Promise<void>;

export function createFilterCheck(asking: Asking): FilterCheck {
  const known = new Set<string>();
  return async (rows, filters) => {
    for (const filter of filters) {
      const name = `${filter.field} ${filter.condition}`;
      const matches = new Set(rows.map(createMatcher(linkFilters, filter)));
      if (matches.has(false)) throw refuseFilter(name);
      if (!matches.has(undefined) || known.has(name)) continue;
      if (!(await isKnown(asking, filter))) throw refuseFilter(name);
      known.add(name);
    }
  };
}

function refuseFilter(name: string): CallFailure {
  const answer = `The server returned links that do not match the filter ${name}`;
  const message = `${answer}; it may not support that filter.`;
  return new CallFailure("bad_response", message, { effect: "none", retry: "never" });
}

/**
 * Where a link does not show what was asked of it, the deployment is asked for what no link can be:
 * it answers nothing exactly when it has understood.
 */
async function isKnown({ call, signal }: Asking, filter: FilterInput): Promise<boolean> {
  for (const filters of contradict(filter)) {
    if ((await call(links.index, { limit: 1, filters }, signal)).links.length > 0) return false;
  }
  return true;
}

/** Each condition with its opposite; a null matches neither of the two. */
const opposites: Readonly<Partial<Record<Condition, Condition>>> = {
  not_eq: "eq",
  gt: "lteq",
  lteq: "gt",
  lt: "gteq",
  gteq: "lt",
};

function contradict(asked: FilterInput): readonly (readonly FilterInput[])[] {
  const filter = toPlainFilter(asked);
  const { field, condition } = filter;
  if (condition === "null") return [[filter, { ...filter, condition: "present" }]];
  if (condition === "present") return [[filter, { ...filter, condition: "null" }]];
  const opposite = opposites[condition];
  if (opposite !== undefined) {
    const missing = { field, condition: "null", value: true } as const;
    return [
      [filter, { ...filter, condition: opposite }],
      [filter, missing],
    ];
  }
  const value = field === "created_at" ? "1000-01-01" : "waypost asks for what no link has";
  return [[{ ...filter, value: condition === "in" ? [value] : value }]];
}
