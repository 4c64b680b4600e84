import { describePage } from "../contract/describe-page.ts";
import type { Filter, ListQuery, Sort } from "../contract/filters.ts";
import { addressField } from "../contract/rules/read-search.ts";

/**
 * Whether a list of links looks at few of them, whatever stands in them. All others are read where
 * they hold nobody up, for one that finds much by an index may still go through a million links:
 * that many have a name in common, or no clicks. A quick one is answered sooner where it is asked.
 */
export function isQuickList(query: ListQuery, links: number): boolean {
  if (links <= few) return true;
  const [filter, ...others] = query.filters;
  if (filter === undefined) return isAlongIndex(query.sorts) && isNearEnd(query, links);
  return others.length === 0 && findsOneEach(filter);
}

/** Going through so many takes 5 ms at the worst, skipping them by an index less than 2. */
const few = 2000;

/** An index has the links in just this order. */
function isAlongIndex([sort, ...others]: readonly Sort[]): boolean {
  return others.length === 0 && ["created_at", "path"].includes(sort?.field ?? "created_at");
}

/** Pages are counted off from the end that is nearer. */
function isNearEnd(query: ListQuery, links: number): boolean {
  const { from, to } = describePage(query, links);
  return Math.min(from, links - to) <= few;
}

/** No two links of a project have such a text in common. */
const unique: ReadonlySet<string> = new Set(["path", "shortened_path", addressField]);

/** Of two tests that are joined by "or", SQLite would hold each link against both. */
function findsOneEach({ tests: [test, ...others] }: Filter): boolean {
  if (test === undefined || others.length > 0 || !unique.has(test.field)) return false;
  return test.condition === "eq" || test.condition === "in";
}
