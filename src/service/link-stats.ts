import type { StatsBy } from "../contract/link-stats.ts";
import { findTime, listCounted, type CountedTime, type Interval } from "../stats/counted-time.ts";
import type { Period } from "../stats/period.ts";
import { findStep, isStep, type Step } from "../stats/steps.ts";
import { addUp, compareSums, noVisits, type Sum } from "../stats/sums.ts";
import { otherReferrers, type Fact } from "../stats/visit.ts";
import { chooseLinks, type LinkScope } from "../store/link-scope.ts";
import { readByLink, readByTime, readByValue, readTotal } from "../store/read-visits.ts";
import type { Tenant } from "../store/tenant.ts";

/** Sums of the visits of a period, by steps of time, by link or by another fact. */

export type SumsQuery = {
  readonly links: LinkScope;
  readonly by: StatsBy;
  readonly asked: Window;
  /** The period to compare with, which ends where the other begins. */
  readonly before?: Window | undefined;
  /** The most keys that get a row of their own, where they are no steps of time. */
  readonly most: number;
  /** The first day whose hours are known. */
  readonly firstDay: number;
};

type Window = {
  readonly period: Period;
  /** One for each row, where the rows are steps of time. */
  readonly steps: readonly Step[];
};

export type VisitSums = {
  readonly total: Sum;
  /** By key, in the order of time or with the most clicks first. */
  readonly rows: readonly (readonly [string, Sum])[];
  /** Whether there are keys without a row. */
  readonly isCut: boolean;
  /** Of all keys: with the presses of buttons, where they have a key. */
  readonly all: Sum;
  /** Also knows keys without a row, but of links only those with a row in either period. */
  readonly find: (key: string) => Sum | undefined;
};

type ComparedSums = { readonly found: VisitSums; readonly earlier: VisitSums | undefined };

export async function readVisitSums(tenant: Tenant, query: SumsQuery): Promise<ComparedSums> {
  const { by, asked, before } = query;
  if (by === "link") return compareLinks(tenant, query);
  const read = (window: Window) =>
    isStep(by) ? readSteps(tenant, query, window) : readValues(tenant, query, by, window);
  const found = await read(asked);
  return { found, earlier: before && (await read(before)) };
}

async function readSteps(
  tenant: Tenant,
  { links, firstDay }: SumsQuery,
  { period, steps }: Window,
): Promise<VisitSums> {
  const time = listCounted(listIntervals(period, steps), firstDay);
  const byKey = new Map<string, Sum>();
  for (const [{ unit, hour }, sum] of await readByTime(tenant, { time, links })) {
    const key = findStep(steps, findTime(unit, hour))?.key ?? "";
    byKey.set(key, addUp([byKey.get(key) ?? noVisits, sum]));
  }
  const rows = steps.map(({ key }) => [key, byKey.get(key) ?? noVisits] as const);
  const total = addUp(byKey.values());
  const known = new Map(rows);
  return { total, rows, isCut: false, all: total, find: (key) => known.get(key) };
}

/** What is before the first step belongs to it. */
function listIntervals({ from, to }: Period, steps: readonly Step[]): readonly Interval[] {
  return steps.map(({ start }, place) => {
    return { from: place === 0 ? from : start, to: steps[place + 1]?.start ?? to };
  });
}

async function readValues(
  tenant: Tenant,
  { links, most, firstDay }: SumsQuery,
  fact: Fact,
  { period }: Window,
): Promise<VisitSums> {
  const scope = { time: listCounted([period], firstDay), links };
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

/** Each link with a row in one of the periods is looked up in the other. */
async function compareLinks(tenant: Tenant, query: SumsQuery): Promise<ComparedSums> {
  const { asked, before, firstDay } = query;
  const time = listCounted([asked.period], firstDay);
  const timeBefore = before && listCounted([before.period], firstDay);
  const rows = await readByLink(tenant, { time, links: query.links }, query.most);
  const rowsBefore =
    timeBefore && (await readByLink(tenant, { time: timeBefore, links: query.links }, query.most));
  const found = await addOthers(tenant, query, { time, rows, others: rowsBefore ?? [] });
  if (timeBefore === undefined || rowsBefore === undefined) return { found, earlier: undefined };
  const earlier = { time: timeBefore, rows: rowsBefore, others: rows };
  return { found, earlier: await addOthers(tenant, query, earlier) };
}

type LinkRows = VisitSums["rows"];

async function addOthers(
  tenant: Tenant,
  { links, most }: SumsQuery,
  { time, rows, others }: { time: CountedTime; rows: LinkRows; others: LinkRows },
): Promise<VisitSums> {
  const total = await readTotal(tenant, { time, links });
  const known = new Map(rows);
  const ids = others.map(([id]) => id).filter((id) => !known.has(id));
  const scope = { time, links: chooseLinks(ids) };
  const more = ids.length === 0 ? [] : await readByLink(tenant, scope, ids.length);
  const all = new Map([...rows, ...more]);
  return { total, rows, isCut: rows.length >= most, all: total, find: (id) => all.get(id) };
}
