import type { LinkStats, StatsBy } from "../contract/link-stats.ts";
import { isStep } from "../stats/steps.ts";
import { addUp, isNone, noVisits, subtract, type Sum } from "../stats/sums.ts";
import { otherReferrers, pressSource } from "../stats/visit.ts";
import { readPaths } from "../store/links.ts";
import type { Tenant } from "../store/tables.ts";
import type { VisitSums } from "./link-stats.ts";

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

type Telling = { readonly by: StatsBy; readonly most: number };

/** Their sums are the totals, of the period before too. */
export async function tellRows(
  tenant: Tenant,
  telling: Telling,
  found: VisitSums,
  earlier: VisitSums | undefined,
): Promise<Row[]> {
  if (isStep(telling.by)) {
    return found.rows.map(([key, sum]) => tellRow(key, sum, earlier?.find(key)));
  }
  const groups = await groupKeys(tenant, listKeys(telling, found, earlier), telling);
  const rows = groups.map(({ key, id, keys }): Row => {
    const row = tellRow(key, addUpKeys(keys, found), earlier && addUpKeys(keys, earlier));
    return id === undefined ? row : { ...row, id };
  });
  const told = groups.flatMap(({ keys }) => keys);
  const rest = findRest(told, found);
  const restBefore = earlier && findRest(told, earlier);
  if (isNone(rest) && isNone(restBefore ?? noVisits)) return rows;
  return [...rows, tellRow(othersKey, rest, restBefore)];
}

function tellRow(key: string, sum: Sum, previous: Sum | undefined): Row {
  return { key, ...showSum(sum), ...(previous && { previous: previous.click }) };
}

/** Behind those that were found those follow that were there in the time before alone. */
function listKeys(
  { by }: Telling,
  found: VisitSums,
  earlier: VisitSums | undefined,
): readonly string[] {
  const keys = found.rows.map(([key]) => key);
  // Of very many links, what those had that are not among the best is not known one by one.
  const isCut = by === "link" && found.isCut;
  if (earlier === undefined || isCut) return keys;
  return [...new Set([...keys, ...earlier.rows.map(([key]) => key)])];
}

async function groupKeys(
  tenant: Tenant,
  keys: readonly string[],
  { by, most }: Telling,
): Promise<readonly Group[]> {
  if (by !== "link") return keys.slice(0, most).map((key) => ({ key, keys: [key] }));
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

/** In these several are told together, or what is no click. */
const neverBest: ReadonlySet<string> = new Set([othersKey, deletedKey, pressSource]);

/** The row with the most clicks, of those that are told apart, where there are several. */
export function findBest(rows: readonly Row[]): Row | undefined {
  if (rows.length < 2) return undefined;
  const apart = rows.filter(({ key }) => !neverBest.has(key));
  return apart.toSorted((one, other) => other.clicks - one.clicks)[0];
}

function addUpKeys(keys: readonly string[], { find }: VisitSums): Sum {
  return addUp(keys.map((key) => find(key) ?? noVisits));
}

/** All that those that are told apart have not. */
function findRest(told: readonly string[], found: VisitSums): Sum {
  return subtract(found.all, addUpKeys(told, found));
}

export function showSum({ click, open, install }: Sum) {
  return { clicks: click, opens: open, installs: install };
}
