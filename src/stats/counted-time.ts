import { day_ms, dayHours, hour_ms } from "./visit.ts";

/** A moment or a length of time, as counters have it: whole days of UTC, and hours of others. */
export type CountedTime = {
  /** Each by its first hour; hours are numbered since 1970. */
  readonly days: readonly number[];
  readonly hours: readonly number[];
};

export type Interval = { readonly from: number; readonly to: number };

/**
 * The counters that make up some time. Before `firstDay` hours are not known any more: such a day
 * belongs to where its noon is, which most time zones have in the same day.
 */
export function listCounted(intervals: readonly Interval[], firstDay: number): CountedTime {
  const days: number[] = [];
  const hours: number[] = [];
  for (const { from, to } of intervals) {
    for (let day = Math.floor(from / day_ms); day * day_ms < to; day += 1) {
      const first = day * dayHours;
      const isWhole = from <= day * day_ms && (day + 1) * day_ms <= to;
      if (day < firstDay ? isWithin(findTime("day", first), from, to) : isWhole) days.push(first);
      else if (day >= firstDay) hours.push(...listHours(first, from, to));
    }
  }
  return { days, hours };
}

/** When the visits of a counter were, for the step that they belong to. */
export function findTime(unit: "day" | "hour", hour: number): number {
  return (unit === "day" ? hour + dayHours / 2 : hour) * hour_ms;
}

/** The hours of a day that begin in the interval. */
function listHours(first: number, from: number, to: number): readonly number[] {
  const hours = Array.from({ length: dayHours }, (_, place) => first + place);
  return hours.filter((hour) => isWithin(hour * hour_ms, from, to));
}

function isWithin(time: number, from: number, to: number): boolean {
  return time >= from && time < to;
}
