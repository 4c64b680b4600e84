import type { LinkStats, StatsBy } from "../contract/link-stats.ts";
import { addSum, createSum, subtractSum, type Sum } from "../stats/sums.ts";
import { otherReferrers } from "../stats/visit.ts";
import { readPaths } from "../store/link-ids.ts";
import type { Tenant } from "../store/tenant.ts";
import { isStep, type Found } from "./link-stats.ts";

/** How sums are told: each key in one row, and what is told together behind them. */

type Row = LinkStats["rows"][number];

/** What is told in one row. */
type Group = {
  readonly key: string;
  /** Of a link that is there. */
  readonly id?: string;
  /** Under which it was added up. */
  readonly keys: readonly string[];
};

/** What is told together. Paths begin with a slash, and of hosts each has a dot: none is one. */
const othersKey = otherReferrers;
const deletedKey = "deleted links";

/** So many more links are looked at, for those that were deleted share a row. */
const spareLinks = 100;

export function countLooked(by: StatsBy, most: number): number {
  return by === "link" ? most + spareLinks : most;
}

export async function groupKeys(
  tenant: Tenant,
  { rows }: Found,
  { by, most }: { readonly by: StatsBy; readonly most: number },
): Promise<readonly Group[]> {
  const keys = rows.map(([key]) => key);
  if (by !== "link") return keys.map((key) => ({ key, keys: [key] }));
  const paths = await readPaths(tenant, keys);
  const links: Group[] = [];
  const deleted: string[] = [];
  for (const id of keys) {
    if (links.length === most) break;
    const path = paths.get(id);
    if (path === undefined) deleted.push(id);
    else links.push({ key: nameLink(id, path), id, keys: [id] });
  }
  return deleted.length === 0 ? links : [...links, { key: deletedKey, keys: deleted }];
}

/** A path alone reads like a word of a sentence: "the link named had 0 clicks". */
export function nameLink(id: string, path: string | null): string {
  return path === null ? id : `/${path}`;
}

export function tellRows(
  by: StatsBy,
  groups: readonly Group[],
  found: Found,
  earlier: Found | undefined,
): Row[] {
  const tell = (key: string, sum: Sum, previous: Sum | undefined): Row => {
    return { key, ...showSum(sum), ...(earlier && { previous: previous?.click ?? 0 }) };
  };
  if (isStep(by)) {
    // The first of this period stands beside the first of the one before.
    return found.rows.map(([key, sum], place) => tell(key, sum, earlier?.rows[place]?.[1]));
  }
  const rows = groups.map(({ key, id, keys }): Row => {
    const row = tell(key, addUp(keys, found), earlier && addUp(keys, earlier));
    return id === undefined ? row : { ...row, id };
  });
  const told = groups.flatMap(({ keys }) => keys);
  if (found.keys === told.length) return rows;
  return [...rows, tell(othersKey, findRest(told, found), earlier && findRest(told, earlier))];
}

/** The row with the most clicks, of those that are told apart, where there are several. */
export function findBest(rows: readonly Row[]): Row | undefined {
  if (rows.length < 2) return undefined;
  const apart = rows.filter(({ key }) => key !== othersKey && key !== deletedKey);
  return apart.toSorted((one, other) => other.clicks - one.clicks)[0];
}

function addUp(keys: readonly string[], { find }: Found): Sum {
  const all = createSum();
  for (const key of keys) addSum(all, find(key) ?? createSum());
  return all;
}

/** All that those that are told apart have not. */
function findRest(told: readonly string[], found: Found): Sum {
  const rest = { ...found.all };
  subtractSum(rest, addUp(told, found));
  return rest;
}

export function showSum({ click, open, install }: Sum) {
  return { clicks: click, opens: open, installs: install };
}
