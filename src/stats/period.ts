import { parseLocalTime, writeLocalTime, type TimeZone } from "../contract/local-time.ts";
import { day_ms, hour_ms } from "./visit.ts";

/** From one moment up to another, as it was asked for. */
export type Period = {
  readonly from: number;
  /** The first moment that is not in it. */
  readonly to: number;
  /** So many days on the clocks of its zone; undefined where it begins or ends within one. */
  readonly days: number | undefined;
};

/** Which of the two is no date, or that one is after the other. */
export type PeriodFault = "from" | "to" | "order" | "length";

/** What is asked for where nothing is said: today and the six days before. */
const usualDays = 7;
const mostDays = 3700;
const datePattern = /^\d{4}-\d{2}-\d{2}$/;

/** A date alone is a whole day: `to` is the last one that is in it. */
export function readPeriod(
  given: { readonly from?: string | undefined; readonly to?: string | undefined },
  zone: TimeZone,
  now: number,
): Period | PeriodFault {
  const to = given.to ?? writeDate(now, zone);
  const isToDate = datePattern.test(to);
  const last = parseLocalTime(to, zone);
  if (last === null) return "to";
  const end = isToDate ? startDay(moveDate(to, 1), zone) : last;
  const from = given.from ?? moveDate(writeDate(end - 1, zone), 1 - usualDays);
  const start = parseLocalTime(from, zone);
  if (start === null) return "from";
  if (start >= end) return "order";
  if (end - start > mostDays * day_ms) return "length";
  if (!isToDate || !datePattern.test(from)) {
    return widen({ from: start, to: end, days: undefined });
  }
  return { from: start, to: end, days: (Date.parse(to) - Date.parse(from)) / day_ms + 1 };
}

/** Visits are counted by the hour, so a part of an hour counts as all of it. */
function widen({ from, to, days }: Period): Period {
  const [first, last] = [Math.floor(from / hour_ms), Math.ceil(to / hour_ms)];
  return { from: first * hour_ms, to: last * hour_ms, days };
}

/** The period of the same length that ends where this one begins. */
export function findPrevious({ from, to, days }: Period, zone: TimeZone): Period {
  if (days === undefined) return { from: from - (to - from), to: from, days };
  return { from: startDay(moveDate(writeDate(from, zone), -days), zone), to: from, days };
}

/** The first moment of a date. Not all have a midnight, so it is reckoned from no other moment. */
export function startDay(date: string, zone: TimeZone): number {
  // What has more than four digits of a year is far from any visit.
  return parseLocalTime(date, zone) ?? Date.parse(date);
}

export function moveDate(date: string, days: number): string {
  const [moved = date] = new Date(Date.parse(date) + days * day_ms).toISOString().split("T");
  return moved;
}

/** `2026-11-16`. */
export function writeDate(time: number, zone: TimeZone): string {
  return writeLocalTime(time, zone).slice(0, 10);
}

/** Its two ends as they are told: the last day, or else the moment at which it is over. */
export function writePeriod({ from, to, days }: Period, zone: TimeZone) {
  if (days === undefined) return { from: writeLocalTime(from, zone), to: writeLocalTime(to, zone) };
  return { from: writeDate(from, zone), to: writeDate(to - 1, zone) };
}
