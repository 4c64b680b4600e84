import { parseLocalTime, writeLocalTime, type TimeZone } from "../contract/local-time.ts";
import { moveDate, startDay, writeDate, type Period } from "./period.ts";
import { hour_ms } from "./visit.ts";

/** Splits a period into hours, days, weeks or months. */

const stepNames = ["hour", "day", "week", "month"] as const;
export type StepName = (typeof stepNames)[number];

/** One hour, day, week or month. It ends where the next one starts, or at the end of the period. */
export type Step = { readonly key: string; readonly start: number };

export function isStep(by: string): by is StepName {
  return stepNames.some((name) => name === by);
}

/**
 * Lists the first `most` steps of a period. Hours are hours of UTC, because visits are stored that
 * way. In a time zone with a half-hour offset, they start at half past.
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
  const next = startDay(findFirst(moveDate(first, mostDays[name]), name), zone);
  return { key: name === "month" ? first.slice(0, 7) : first, next };
}

/** The maximum number of days in a step. */
const mostDays = { day: 1, week: 7, month: 31 };

/** Returns the first date of the step that contains this date. */
function findFirst(date: string, name: Exclude<StepName, "hour">): string {
  switch (name) {
    case "day":
      return date;
    case "week": {
      // Weeks start on Monday.
      const weekday = (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;
      return moveDate(date, -weekday);
    }
    case "month":
      return `${date.slice(0, 8)}01`;
  }
}

/**
 * Returns the steps of the previous period for comparison with these steps. They have the same
 * dates or clock times, shifted by the length of the period. Together they cover the whole previous
 * period. If clocks skip the hour of a step, the step is omitted.
 */
export function moveSteps(
  steps: readonly Step[],
  name: StepName,
  { period, before, zone }: { period: Period; before: Period; zone: TimeZone },
): readonly Step[] {
  const end = findHour(before.to);
  let latest = findHour(before.from);
  const starts = steps.map(({ start }) => {
    // When clocks are set back, local times occur twice.
    latest = Math.max(latest, findHour(findEarlier(start, name, period, zone)));
    return latest;
  });
  return steps.flatMap(({ key }, place) => {
    const start = starts[place] ?? end;
    return start < (starts[place + 1] ?? end) ? [{ key, start }] : [];
  });
}

/** Returns the first full hour at or after a moment. */
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

/** Finds the step that contains a moment. Earlier moments belong to the first step. */
export function findStep(steps: readonly Step[], time: number): Step | undefined {
  return steps.findLast(({ start }) => start <= time) ?? steps[0];
}
