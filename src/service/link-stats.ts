import type { StatsBy } from "../contract/link-stats.ts";
import type { Period } from "../stats/period.ts";
import { findStep, isStep, type Step } from "../stats/steps.ts";
import { addUp, compareSums, noVisits, type Sum } from "../stats/sums.ts";
import { otherReferrers, type VisitFact } from "../stats/visit.ts";
import { chooseLinks, type LinkScope } from "../store/link-lists.ts";
import {
  readByHour,
  readByLink,
  readByValue,
  readTotal,
  type VisitScope,
} from "../store/read-visits.ts";
import type { Tenant } from "../store/tables.ts";

/**
 * Reads how many visits a period had, by hour, day, week or month, by link, or by another property.
 */

export type SumsQuery = {
  readonly links: LinkScope;
  readonly by: StatsBy;
  readonly asked: StatsWindow;
  /** The period to compare with. */
  readonly before?: StatsWindow | undefined;
  /** The maximum number of rows, unless rows are steps of time. */
  readonly most: number;
};

type StatsWindow = {
  readonly period: Period;
  /** The steps, one for each row, if rows are steps of time. */
  readonly steps: readonly Step[];
};

export type VisitSums = {
  readonly total: Sum;
  /** The sums by key, in order of time or with the most clicks first. */
  readonly rows: readonly (readonly [string, Sum])[];
  /** True if some keys have no row. */
  readonly isCut: boolean;
  /** The sum of all keys. Unlike `total`, it includes presses of buttons. */
  readonly all: Sum;
  /**
   * Finds the sum of a key, even without a row. Links are found only with a row in either period.
   */
  readonly find: (key: string) => Sum | undefined;
};

type ComparedSums = { readonly found: VisitSums; readonly earlier: VisitSums | undefined };

export async function readVisitSums(tenant: Tenant, query: SumsQuery): Promise<ComparedSums> {
  const { by, asked, before } = query;
  if (by === "link") return compareLinks(tenant, query);
  const read = (window: StatsWindow) =>
    isStep(by) ? readSteps(tenant, query, window) : readValues(tenant, query, by, window);
  const found = await read(asked);
  return { found, earlier: before && (await read(before)) };
}

async function readSteps(
  tenant: Tenant,
  { links }: SumsQuery,
  { period, steps }: StatsWindow,
): Promise<VisitSums> {
  const byKey = new Map<string, Sum>(steps.map(({ key }) => [key, noVisits]));
  for (const [at, sum] of await readByHour(tenant, { period, links })) {
    const key = findStep(steps, at)?.key ?? "";
    byKey.set(key, addUp([byKey.get(key) ?? noVisits, sum]));
  }
  const total = addUp(byKey.values());
  const rows = steps.map(({ key }) => [key, byKey.get(key) ?? noVisits] as const);
  return { total, rows, isCut: false, all: total, find: (key) => byKey.get(key) };
}

async function readValues(
  tenant: Tenant,
  { links, most }: SumsQuery,
  fact: VisitFact,
  { period }: StatsWindow,
): Promise<VisitSums> {
  const scope = { period, links };
  const total = await readTotal(tenant, scope);
  const byValue = await readByValue(tenant, fact, scope, total);
  const named = [...byValue].filter(([value]) => value !== otherReferrers).toSorted(compareSums);
  return {
    total,
    rows: named.slice(0, most),
    isCut: named.length > most,
    all: addUp(byValue.values()),
    find: (value) => byValue.get(value),
  };
}

/** Reads both periods. Each link with a row in one period is also looked up in the other. */
async function compareLinks(
  tenant: Tenant,
  { links, asked, before, most }: SumsQuery,
): Promise<ComparedSums> {
  const scope = { period: asked.period, links };
  const scopeBefore = before && { period: before.period, links };
  const rows = await readByLink(tenant, scope, most);
  const rowsBefore = scopeBefore && (await readByLink(tenant, scopeBefore, most));

  async function addOthers({ period }: VisitScope, own: LinkRows, others: LinkRows) {
    const total = await readTotal(tenant, { period, links });
    const known = new Map(own);
    const ids = others.map(([id]) => id).filter((id) => !known.has(id));
    const more = await readByLink(tenant, { period, links: chooseLinks(ids) }, most);
    const all = new Map([...own, ...more]);
    const isCut = own.length >= most;
    return { total, rows: own, isCut, all: total, find: (id: string) => all.get(id) };
  }

  const found = await addOthers(scope, rows, rowsBefore ?? []);
  const earlier = scopeBefore && rowsBefore && (await addOthers(scopeBefore, rowsBefore, rows));
  return { found, earlier };
}

type LinkRows = VisitSums["rows"];
