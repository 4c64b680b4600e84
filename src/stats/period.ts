import { parseLocalTime, writeLocalTime, type TimeZone } from "../contract/local-time.ts";
import { day_ms, hour_ms } from "./visit.ts";

/** Parses periods for statistics, and splits them into hours, days, weeks or months. */

export type Period = {
  readonly from: number;
  /** The end of the period. This time itself is not part of the period. */
  readonly to: number;
  /** The number of days. Undefined unless the period consists of whole days. */
  readonly days: number | undefined;
};

/** The invalid bound, or the conflict between the two bounds. */
export type PeriodFault = "from" | "to" | "order" | "length";

/** The number of days in the default period, which ends with today. */
const usualDays = 7;
const mostDays = 3700;
const datePattern = /^\d{4}-\d{2}-\d{2}$/;

/** Parses a period. If `to` is a date, that whole day is included. */
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

/** Extends a period to whole hours, because visits are counted per hour. */
function widen({ from, to, days }: Period): Period {
  const [first, last] = [Math.floor(from / hour_ms), Math.ceil(to / hour_ms)];
  return { from: first * hour_ms, to: last * hour_ms, days };
}

/** Returns the period of the same length that ends where this one starts. */
export function findPrevious({ from, to, days }: Period, zone: TimeZone): Period {
  if (days === undefined) return { from: from - (to - from), to: from, days };
  return { from: startDay(moveDate(writeDate(from, zone), -days), zone), to: from, days };
}

/** Returns when a day starts. This is not always midnight, because clocks may skip midnight. */
function startDay(date: string, zone: TimeZone): number {
  // Years with more than four digits cannot be parsed, but no visit has such a year.
  return parseLocalTime(date, zone) ?? Date.parse(date);
}

function moveDate(date: string, days: number): string {
  const [moved = date] = new Date(Date.parse(date) + days * day_ms).toISOString().split("T");
  return moved;
}

/** Formats the local date of a time, such as `2026-11-16`. */
export function writeDate(time: number, zone: TimeZone): string {
  return writeLocalTime(time, zone).slice(0, 10);
}

/** Formats both bounds. If the period consists of whole days, `to` is formatted as its last day. */
export function writePeriod({ from, to, days }: Period, zone: TimeZone) {
  if (days === undefined) return { from: writeLocalTime(from, zone), to: writeLocalTime(to, zone) };
  return { from: writeDate(from, zone), to: writeDate(to - 1, zone) };
}

const stepNames = ["hour", "day", "week", "month"] as const;
export type StepName = (typeof stepNames)[number];

/**
 * An hour, day, week or month of a period. A step ends where the next one starts. The last step
 * ends with the period.
 */
export type Step = { readonly key: string; readonly start: number };

export function isStep(by: string): by is StepName {
  return stepNames.some((name) => name === by);
}

/**
 * Lists the first `most` steps of a period. Visits are counted per UTC hour. So in a time zone with
 * a half-hour offset, hours start at half past.
 */
export function listSteps(
  { from, to }: Period,
  name: StepName,
  zone: TimeZone,
  most = Infinity,
): readonly Step[] {
  const steps: Step[] = [];
  let start = name === "hour" ? findHour(from) : from;
  while (start < to && steps.length < most) {
    const { key, next } = name === "hour" ? readHour(start, zone) : readDays(start, name, zone);
    steps.push({ key, start });
    start = next;
  }
  return steps;
}

function readHour(time: number, zone: TimeZone) {
  const shown = writeLocalTime(time, zone);
  return { key: `${shown.slice(0, 16)}${shown.slice(19)}`, next: time + hour_ms };
}

function readDays(time: number, name: Exclude<StepName, "hour">, zone: TimeZone) {
  const date = writeDate(time, zone);
  const first = findFirst(date, name);
  const next = startDay(findFirst(moveDate(first, mostDaysOf[name]), name), zone);
  return { key: name === "month" ? first.slice(0, 7) : first, next };
}

const mostDaysOf = { day: 1, week: 7, month: 31 };

/** Returns the first day of the step that contains this day. */
function findFirst(date: string, name: Exclude<StepName, "hour">): string {
  switch (name) {
    case "day":
      return date;
    case "week": {
      const weekday = (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;
      return moveDate(date, -weekday);
    }
    case "month":
      return `${date.slice(0, 8)}01`;
  }
}

/**
 * Returns the steps of the previous period: each step, moved back by the period's length in local
 * time. Together, they cover the whole previous period. Omits steps in an hour that clocks skip.
 */
export function moveSteps(
  steps: readonly Step[],
  name: StepName,
  { period, before, zone }: { period: Period; before: Period; zone: TimeZone },
): readonly Step[] {
  const end = findHour(before.to);
  let latest = findHour(before.from);
  const starts = steps.map(({ start }) => {
    // When clocks are set back, local times occur twice, so keep the steps in order.
    latest = Math.max(latest, findHour(findEarlier(start, name, period, zone)));
    return latest;
  });
  return steps.flatMap(({ key }, place) => {
    const start = starts[place] ?? end;
    return start < (starts[place + 1] ?? end) ? [{ key, start }] : [];
  });
}

/** Rounds a time up to a full hour. */
function findHour(time: number): number {
  return Math.ceil(time / hour_ms) * hour_ms;
}

function findEarlier(time: number, name: StepName, period: Period, zone: TimeZone): number {
  const { from, to, days } = period;
  if (days === undefined) return time - (to - from);
  const date = moveDate(writeDate(time, zone), -days);
  if (name !== "hour") return startDay(date, zone);
  const clock = new Date(time + zone.readOffset(time)).toISOString().split("T")[1] ?? "";
  return parseLocalTime(`${date}T${clock.slice(0, -1)}`, zone) ?? startDay(date, zone);
}

/**
 * Finds the step that contains this time. A time before the first step belongs to the first step.
 */
export function findStep(steps: readonly Step[], time: number): Step | undefined {
  return steps.findLast(({ start }) => start <= time) ?? steps[0];
}
