import { parseLocalTime, writeLocalTime, type TimeZone } from "../contract/local-time.ts";
import { hour_ms } from "./visit.ts";

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

const day_ms = 24 * hour_ms;
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
  const end = isToDate ? addDays(last, 1, zone) : last;
  const from = given.from ?? writeDate(addDays(end - 1, 1 - usualDays, zone), zone);
  const start = parseLocalTime(from, zone);
  if (start === null) return "from";
  if (start >= end) return "order";
  if (end - start > mostDays * day_ms) return "length";
  const isWhole = isToDate && datePattern.test(from);
  const days = isWhole ? Math.round((end - start) / day_ms) : undefined;
  return { from: start, to: end, days };
}

/** The period of the same length that ends where this one begins. */
export function findPrevious({ from, to, days }: Period, zone: TimeZone): Period {
  if (days === undefined) return { from: from - (to - from), to: from, days };
  return { from: addDays(from, -days, zone), to: from, days };
}

/** The same time of day on another one, however long the days between are. */
function addDays(time: number, days: number, zone: TimeZone): number {
  const shown = new Date(time + zone.readOffset(time) + days * day_ms).toISOString();
  return parseLocalTime(shown.slice(0, 23), zone) ?? time + days * day_ms;
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

export type Step = "hour" | "day" | "week";

/** The key of a moment, and the beginning of what follows it. */
export function findStep(time: number, step: Step, zone: TimeZone) {
  if (step === "hour") {
    const next = time + hour_ms;
    const key = writeLocalTime(time, zone);
    return { key: `${key.slice(0, 16)}${key.slice(19)}`, next };
  }
  const day = writeDate(time, zone);
  const start = parseLocalTime(day, zone) ?? time;
  if (step === "day") return { key: day, next: addDays(start, 1, zone) };
  // A week begins on Monday.
  const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7;
  const monday = addDays(start, -weekday, zone);
  return { key: writeDate(monday, zone), next: addDays(monday, 7, zone) };
}

/**
 * The steps of a period in order, those without a visit too. Hours are those of UTC that begin in
 * it, as visits are kept: where clocks are half an hour off, they begin at half past.
 */
export function listSteps({ from, to }: Period, step: Step, zone: TimeZone): readonly string[] {
  const keys: string[] = [];
  for (let time = step === "hour" ? Math.ceil(from / hour_ms) * hour_ms : from; time < to;) {
    const { key, next } = findStep(time, step, zone);
    keys.push(key);
    time = next;
  }
  return keys;
}
