import type { StatsBy } from "../contract/link-stats.ts";
import type { LinkSet } from "../stats/link-set.ts";
import { compareSums, createLinkSums, type LinkSums } from "../stats/link-sums.ts";
import type { Period } from "../stats/period.ts";
import { findStep, isStep, type Step } from "../stats/steps.ts";
import { addSum, addTo, createSum, createSums, type Sum, type Sums } from "../stats/sums.ts";
import { day_ms, hour_ms, otherReferrers, type Kind, type VisitEvent } from "../stats/visit.ts";
import { readSums } from "../store/read-sums.ts";
import { readTotals } from "../store/read-totals.ts";
import { readDetails, readPartOfDay, type Days, type SumsRow } from "../store/read-visits.ts";
import type { Tenant } from "../store/tenant.ts";

/** Adds up the visits of a period, from whichever of what is kept of them is the least to read. */

export type Wanted = {
  /** Undefined is all of the project's. */
  readonly links: LinkSet | undefined;
  readonly by: StatsBy;
  readonly asked: Window;
  /** What it is compared with: it ends where that begins. */
  readonly before?: Window | undefined;
  /** Of keys that are no steps of time so many with the most clicks are told apart. */
  readonly most: number;
};

type Window = {
  readonly period: Period;
  /** What the rows are, where it is told by time; else there are none. */
  readonly steps: readonly Step[];
};

export type Found = {
  readonly total: Sum;
  /** By key, in the order of time or with the most clicks first. */
  readonly rows: readonly (readonly [string, Sum])[];
  /** Of all keys: with the presses of buttons, where they have one. */
  readonly all: Sum;
  readonly keys: number;
  readonly find: (key: string) => Sum | undefined;
};

type Compared = { readonly found: Found; readonly earlier: Found | undefined };

export async function addUpVisits(tenant: Tenant, wanted: Wanted): Promise<Compared> {
  if (wanted.by === "link") return compareLinks(tenant, wanted);
  const { links, by, asked, before, most } = wanted;
  const own = createCollector(by, asked, most);
  const earlier = before && createCollector(by, before, most);
  const collectors = earlier === undefined ? [own] : [own, earlier];
  // Both are read at once: what waits is of either.
  const days = findDays({ from: (before ?? asked).period.from, to: asked.period.to });
  if (links === undefined) {
    await readTotals(tenant, days, (hour, kind, count) => {
      for (const { takeTotal } of collectors) takeTotal({ hour, kind, count });
    });
  } else {
    await readDetails(tenant, days, links, (kind, count) => {
      for (const { takeDetail } of collectors) takeDetail({ kind, count });
    });
  }
  return { found: own.read(), earlier: earlier?.read() };
}

type Total = { readonly hour: number; readonly kind: string; readonly count: number };
type Detail = { readonly kind: Kind; readonly count: number };

/** Takes what is of its period, and leaves all else. */
function createCollector(by: Exclude<StatsBy, "link">, { period, steps }: Window, most: number) {
  const sums = createSums();
  const readKey = createKeyReader(by, steps);
  return {
    takeTotal: (total: Total) => {
      if (isWithin(total.hour, period)) addTotal(sums, total, by, readKey);
    },
    takeDetail: (detail: Detail) => {
      if (isWithin(detail.kind.hour, period)) addDetail(sums, detail, by, readKey);
    },
    read: () => (isStep(by) ? inOrder(sums, steps) : byClicks(sums, most)),
  };
}

type ReadKey = (seen: Pick<Kind, "hour"> & Partial<Kind>) => string;

function addTotal(sums: Sums, { hour, kind, count }: Total, by: StatsBy, readKey: ReadKey): void {
  const [what, fact, value = ""] = kind.split(" ");
  // We wrote it ourselves.
  const event = what as VisitEvent;
  if (fact === undefined) sums.total[event] += count;
  if (fact === undefined ? isStep(by) : fact === by) {
    addTo(
      sums,
      readKey({ hour, [fact ?? "hour"]: fact === undefined ? hour : value }),
      event,
      count,
    );
  }
}

function addDetail(sums: Sums, { kind, count }: Detail, by: StatsBy, readKey: ReadKey): void {
  const { what, isPress } = kind;
  if (!isPress) sums.total[what] += count;
  if (!isPress || by === "source") addTo(sums, readKey(kind), what, count);
}

/** What nobody said has a name too. */
const unsaid: Readonly<Partial<Record<StatsBy, string>>> = {
  referrer: "direct",
  country: "unknown",
};

function createKeyReader(by: Exclude<StatsBy, "link">, steps: readonly Step[]): ReadKey {
  if (isStep(by)) {
    const known = new Map<number, string>();
    return ({ hour }) => {
      const key = known.get(hour) ?? findStep(steps, hour * hour_ms)?.key ?? "";
      known.set(hour, key);
      return key;
    };
  }
  return (kind) => kind[by] || (unsaid[by] ?? "");
}

/** An hour belongs to where it begins. */
function isWithin(hour: number, { from, to }: Period): boolean {
  const at = hour * hour_ms;
  return at >= from && at < to;
}

function findDays({ from, to }: Pick<Period, "from" | "to">): Days {
  return { first: Math.floor(from / day_ms), last: Math.floor((to - 1) / day_ms) };
}

function inOrder({ total, byKey }: Sums, steps: readonly Step[]): Found {
  const rows = steps.map(({ key }) => [key, byKey.get(key) ?? createSum()] as const);
  const known = new Map(rows);
  return { total, rows, all: total, keys: rows.length, find: (key) => known.get(key) };
}

/** What was not told apart when it was written down is no row. */
function byClicks({ total, byKey }: Sums, most: number): Found {
  const named = [...byKey].filter(([key]) => key !== otherReferrers);
  return {
    total,
    rows: named.toSorted(compareSums).slice(0, most),
    all: addAll([...byKey]),
    keys: byKey.size,
    find: (key) => byKey.get(key),
  };
}

function addAll(sums: readonly (readonly [string, Sum])[]): Sum {
  const all = createSum();
  for (const [, sum] of sums) addSum(all, sum);
  return all;
}

/** What was before is looked up of those links that were found. */
async function compareLinks(
  tenant: Tenant,
  { links, asked, before, most }: Wanted,
): Promise<Compared> {
  const found = await addUpByLink(tenant, links, asked.period, { most });
  const named = found.rows.map(([id]) => id);
  const earlier = before && (await addUpByLink(tenant, links, before.period, { most, named }));
  return { found, earlier };
}

type Told = { readonly most: number; readonly named?: readonly string[] };

/** Whole days by their sums, and of those that the period cuts the hours. */
async function addUpByLink(
  tenant: Tenant,
  only: LinkSet | undefined,
  period: Period,
  { most, named }: Told,
): Promise<Found> {
  const sums = createLinkSums({ most, only, named });
  if (only?.size !== 0) await readAll(tenant, only?.ends, period, sums);
  const { total, links, best, named: found } = sums.read();
  const known = new Map([...found, ...best]);
  return { total, rows: best, all: total, keys: links, find: (id) => known.get(id) };
}

async function readAll(
  tenant: Tenant,
  ends: LinkSet["ends"],
  period: Period,
  sums: LinkSums,
): Promise<void> {
  const days = { first: Math.ceil(period.from / day_ms), last: Math.floor(period.to / day_ms) - 1 };
  const { first, last } = findDays(period);
  const edges = [...new Set([first, last])].filter((day) => day < days.first || day > days.last);
  const cut: SumsRow[] = [];
  for (const day of edges) {
    const part = { days: { first: day, last: day }, ends };
    cut.push(...(await readPartOfDay(tenant, part, (hour) => isWithin(hour, period))));
  }
  await readSums(tenant, { days, ends }, cut, sums);
}
