import type { StatsBy } from "../contract/link-stats.ts";
import type { TimeZone } from "../contract/local-time.ts";
import { packId } from "../stats/link-ids.ts";
import { createLinkSums, type LinkSums } from "../stats/link-sums.ts";
import { findStep, listSteps, type Period, type Step } from "../stats/period.ts";
import { addSum, addTo, createSum, createSums, type Sum, type Sums } from "../stats/sums.ts";
import { dayHours, hour_ms, type Kind, type VisitEvent } from "../stats/visit.ts";
import { readDetails, readSums, readTotals, type Days } from "../store/read-visits.ts";
import type { Tenant } from "../store/tenant.ts";

/** Adds up the visits of a period, from whichever of what is kept of them is the least to read. */

export type Wanted = {
  /** Undefined is all of the project's. */
  readonly ids: ReadonlySet<string> | undefined;
  readonly by: StatsBy;
  readonly zone: TimeZone;
};

export type Found = {
  readonly total: Sum;
  /** By key, in the order of time or with the most clicks first. */
  readonly rows: readonly (readonly [string, Sum])[];
  /** Of those that are not among them. */
  readonly others: (Sum & { readonly keys: number }) | undefined;
  readonly find: (key: string) => Sum | undefined;
};

const day_ms = dayHours * hour_ms;

export async function addUpVisits(
  tenant: Tenant,
  wanted: Wanted,
  period: Period,
  most: number,
): Promise<Found> {
  const { ids, by, zone } = wanted;
  if (by === "link" && ids === undefined) return addUpByLink(tenant, period, most);
  const sums = createSums();
  const readKey = createKeyReader(by, zone);
  const days = findDays(period);
  if (ids === undefined) {
    await readTotals(tenant, days, (hour, kind, count) => {
      if (isWithin(hour, period)) addTotal(sums, { hour, kind, count }, by, readKey);
    });
  } else {
    await readDetails(tenant, days, ids, (id, kind, count) => {
      if (isWithin(kind.hour, period)) addDetail(sums, { id, kind, count }, by, readKey);
    });
  }
  return isStep(by) ? inOrder(sums, listSteps(period, by, zone)) : byClicks(sums, most);
}

type ReadKey = (seen: Pick<Kind, "hour"> & Partial<Kind>, id: string) => string;

function addTotal(
  sums: Sums,
  { hour, kind, count }: { readonly hour: number; readonly kind: string; readonly count: number },
  by: StatsBy,
  readKey: ReadKey,
): void {
  const [what, fact, value = ""] = kind.split(" ");
  // We wrote it ourselves.
  const event = what as VisitEvent;
  if (fact === undefined) sums.total[event] += count;
  if (fact === undefined ? isStep(by) : fact === by) {
    addTo(
      sums,
      readKey({ hour, [fact ?? "hour"]: fact === undefined ? hour : value }, ""),
      event,
      count,
    );
  }
}

function addDetail(
  sums: Sums,
  { id, kind, count }: { readonly id: string; readonly kind: Kind; readonly count: number },
  by: StatsBy,
  readKey: ReadKey,
): void {
  const { what, isPress } = kind;
  if (!isPress) sums.total[what] += count;
  if (!isPress || by === "source") addTo(sums, readKey(kind, id), what, count);
}

/** What nobody said has a name too. */
const unsaid: Readonly<Partial<Record<StatsBy, string>>> = {
  referrer: "direct",
  country: "unknown",
};

function createKeyReader(by: StatsBy, zone: TimeZone): ReadKey {
  if (by === "link") return (_, id) => id;
  if (isStep(by)) {
    const known = new Map<number, string>();
    return ({ hour }) => {
      const key = known.get(hour) ?? findStep(hour * hour_ms, by, zone).key;
      known.set(hour, key);
      return key;
    };
  }
  return (kind) => kind[by] || (unsaid[by] ?? "");
}

export function isStep(by: StatsBy): by is Step {
  return by === "hour" || by === "day" || by === "week";
}

/** An hour belongs to where it begins. */
function isWithin(hour: number, { from, to }: Period): boolean {
  const at = hour * hour_ms;
  return at >= from && at < to;
}

function findDays({ from, to }: Period): Days {
  return { first: Math.floor(from / day_ms), last: Math.floor((to - 1) / day_ms) };
}

function inOrder({ total, byKey }: Sums, keys: readonly string[]): Found {
  const find = (key: string) => byKey.get(key);
  return {
    total,
    rows: keys.map((key) => [key, find(key) ?? createSum()]),
    others: undefined,
    find,
  };
}

function byClicks({ total, byKey }: Sums, most: number): Found {
  const sorted = [...byKey].toSorted(
    ([key, sum], [otherKey, other]) =>
      other.click - sum.click ||
      other.open - sum.open ||
      other.install - sum.install ||
      (key < otherKey ? -1 : 1),
  );
  const left = sorted.slice(most);
  const others = left.length === 0 ? undefined : { ...addAll(left), keys: left.length };
  return { total, rows: sorted.slice(0, most), others, find: (key) => byKey.get(key) };
}

function addAll(sums: readonly (readonly [string, Sum])[]): Sum {
  const all = createSum();
  for (const [, sum] of sums) addSum(all, sum);
  return all;
}

/** Whole days by their sums, and of those that the period cuts the hours. */
async function addUpByLink(tenant: Tenant, period: Period, most: number): Promise<Found> {
  const sums = createLinkSums();
  const first = Math.ceil(period.from / day_ms);
  const last = Math.floor(period.to / day_ms) - 1;
  const { first: begin, last: end } = findDays(period);
  if (first <= last) await readSums(tenant, { first, last }, sums);
  for (const day of new Set([begin, end])) {
    if (day < first || day > last) await addEdge(tenant, day, period, sums);
  }
  const { best, others } = sums.listBest(most);
  const { links, ...left } = others;
  return {
    total: addAll([...best, ["", left]]),
    rows: best,
    others: links === 0 ? undefined : { ...left, keys: links },
    find: sums.find,
  };
}

async function addEdge(tenant: Tenant, day: number, period: Period, sums: LinkSums): Promise<void> {
  await readDetails(tenant, { first: day, last: day }, undefined, (id, kind, count) => {
    const { what, isPress, hour } = kind;
    if (!isWithin(hour, period) || isPress) return;
    const of = (event: VisitEvent) => (what === event ? count : 0);
    sums.add(packId(id), [of("click"), of("open"), of("install")]);
  });
}
