import { parseLocalTime, writeLocalTime, type TimeZone } from "../contract/local-time.ts";
import { day_ms, hour_ms } from "./visit.ts";

/** The requested period of time for statistics. */
export type Period = {
  readonly from: number;
  /** The first moment after the period. */
  readonly to: number;
  /** The number of local days. Undefined if the period starts or ends within a day. */
  readonly days: number | undefined;
};

/** The invalid bound, or what is wrong with both bounds together. */
export type PeriodFault = "from" | "to" | "order" | "length";

/** The length of the default period: today and the six days before. */
const usualDays = 7;
const mostDays = 3700;
const datePattern = /^\d{4}-\d{2}-\d{2}$/;

/** Parses a period. A date means a whole day, so `to` is the last day of the period. */
export function readPeriod(
  bounds: { readonly from?: string | undefined; readonly to?: string | undefined },
  zone: TimeZone,
  now: number,
): Period | PeriodFault {
  const to = bounds.to ?? writeDate(now, zone);
  const isToDate = datePattern.test(to);
  const last = parseLocalTime(to, zone);
  if (last === null) return "to";
  const end = isToDate ? startDay(moveDate(to, 1), zone) : last;
  const from = bounds.from ?? moveDate(writeDate(end - 1, zone), 1 - usualDays);
  const start = parseLocalTime(from, zone);
  if (start === null) return "from";
  if (start >= end) return "order";
  if (end - start > mostDays * day_ms) return "length";
  if (!isToDate || !datePattern.test(from)) {
    return widen({ from: start, to: end, days: undefined });
  }
  return { from: start, to: end, days: (Date.parse(to) - Date.parse(from)) / day_ms + 1 };
}

/** Extends a period to whole hours, because visits are counted by the hour. */
function widen({ from, to, days }: Period): Period {
  const [first, last] = [Math.floor(from / hour_ms), Math.ceil(to / hour_ms)];
  return { from: first * hour_ms, to: last * hour_ms, days };
}

/** Returns the period of the same length that ends where this one starts. */
export function findPrevious({ from, to, days }: Period, zone: TimeZone): Period {
  if (days === undefined) return { from: from - (to - from), to: from, days };
  return { from: startDay(moveDate(writeDate(from, zone), -days), zone), to: from, days };
}

/** Returns the first moment of a date. Some days have no midnight, because clocks skip it. */
export function startDay(date: string, zone: TimeZone): number {
  // Years with more than four digits cannot be parsed, and have no visits.
  return parseLocalTime(date, zone) ?? Date.parse(date);
}

export function moveDate(date: string, days: number): string {
  const [moved = date] = new Date(Date.parse(date) + days * day_ms).toISOString().split("T");
  return moved;
}

/** Formats the local date of a moment, such as `2026-11-16`. */
export function writeDate(time: number, zone: TimeZone): string {
  return writeLocalTime(time, zone).slice(0, 10);
}

/**
 * Formats both bounds. For whole days, `to` is the last day; otherwise it is the end of the period.
 */
export function writePeriod({ from, to, days }: Period, zone: TimeZone) {
  if (days === undefined) return { from: writeLocalTime(from, zone), to: writeLocalTime(to, zone) };
  return { from: writeDate(from, zone), to: writeDate(to - 1, zone) };
}
