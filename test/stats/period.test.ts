import { expect, test } from "vitest";
import {
  openTimeZone,
  parseLocalTime,
  utc,
  writeLocalTime,
} from "../../src/contract/local-time.ts";
import {
  findPrevious,
  readPeriod,
  writePeriod,
  findStep,
  listSteps,
  moveSteps,
  type StepName,
} from "../../src/stats/period.ts";
import { hour_ms } from "../../src/stats/visit.ts";

/** Every hour of a period belongs to exactly one of its steps, across clock changes. */

const names: readonly StepName[] = ["hour", "day", "week", "month"];

const cases = [
  ["Asia/Kolkata", "2026-11-24", "2026-11-24"],
  ["Asia/Kathmandu", "2026-11-24", "2026-11-25"],
  ["America/St_Johns", "2026-03-08", "2026-03-08"],
  ["Australia/Lord_Howe", "2026-04-05", "2026-04-05"],
  ["Australia/Lord_Howe", "2026-10-03", "2026-10-05"],
  ["Pacific/Chatham", "2026-09-27", "2026-09-27"],
  ["Europe/Berlin", "2026-03-29", "2026-03-29"],
  ["Europe/Berlin", "2026-10-25", "2026-10-25"],
  // Here a day has no midnight.
  ["Africa/Cairo", "2026-04-23", "2026-04-25"],
  ["America/Santiago", "2026-09-05", "2026-09-07"],
  ["Africa/Cairo", "2026-04-24", "2026-04-24"],
  ["America/Santiago", "2026-09-06", "2026-09-12"],
  ["America/Santiago", "2026-08-31", "2026-09-06"],
  ["America/Santiago", "2026-09-07", "2026-09-20"],
  // Here a day has no hour before the next one.
  ["America/Nuuk", "2026-03-28", "2026-03-28"],
  ["America/Nuuk", "2026-03-29", "2026-04-04"],
  ["Antarctica/Troll", "2026-10-25", "2026-10-25"],
  ["Antarctica/Troll", "2026-10-18", "2026-10-24"],
  ["Europe/Berlin", "2026-10-26", "2026-10-26"],
  ["Europe/Berlin", "2026-03-30", "2026-03-30"],
  ["UTC", "2026-11-23T20:20:00Z", "2026-11-24"],
  ["Asia/Kolkata", "2026-11-23T20:20:00Z", "2026-11-24T11:11"],
  ["Europe/Berlin", "2026-10-25T01:30", "2026-10-25T05:10"],
] as const;

function read(name: string, from: string | undefined, to: string, now = 0) {
  const zone = name === "UTC" ? utc : openTimeZone(name);
  const period = readPeriod({ from, to }, zone, now);
  if (typeof period === "string") throw new Error(period);
  return { zone, period };
}

function listHours({ from, to }: { readonly from: number; readonly to: number }): number[] {
  const first = Math.ceil(from / hour_ms);
  const count = Math.ceil(to / hour_ms) - first;
  return Array.from({ length: count }, (_, place) => (first + place) * hour_ms);
}

test.each(cases)("each hour in %s from %s to %s is in exactly one interval", (name, from, to) => {
  const { zone, period } = read(name, from, to);
  const hours = listHours(period);
  for (const step of names) {
    const steps = listSteps(period, step, zone);
    const keys = steps.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    const stepKeys = new Set(hours.map((at) => findStep(steps, at)?.key));
    expect([...stepKeys]).toEqual(keys);
    if (step === "hour") expect(keys.map((key) => parseLocalTime(key, zone))).toEqual(hours);
    if (step !== "day") continue;
    for (const at of hours) {
      expect(findStep(steps, at)?.key).toBe(writeLocalTime(at, zone).slice(0, 10));
    }
  }
});

test.each(cases)(
  "in %s, each hour of the period before %s to %s belongs to exactly one interval",
  (name, from, to) => {
    const { zone, period } = read(name, from, to);
    const before = findPrevious(period, zone);
    for (const step of names) {
      const steps = listSteps(period, step, zone);
      const moved = moveSteps(steps, step, { period, before, zone });
      const known = new Set(steps.map(({ key }) => key));
      const used = new Set(listHours(before).map((at) => findStep(moved, at)?.key));
      // No hour is skipped, and steps without a previous hour have none.
      expect([...used].filter((key) => key === undefined || !known.has(key))).toEqual([]);
      expect(moved.map(({ key }) => key)).toEqual([...used]);
      if (step !== "day" || period.days === undefined) continue;
      for (const at of listHours(before)) {
        const date = Date.parse(writeLocalTime(at, zone).slice(0, 10)) + period.days * 24 * hour_ms;
        const expectedKey = new Date(date).toISOString().slice(0, 10);
        expect(findStep(moved, at)?.key).toBe(expectedKey);
      }
    }
  },
);

test.each([
  ["America/Santiago", "2026-09-06", "2026-09-06", "2026-09-06T04:00Z", "2026-09-07T03:00Z", 1],
  ["America/Santiago", "2026-09-06", "2026-09-07", "2026-09-06T04:00Z", "2026-09-08T03:00Z", 2],
  ["America/Santiago", "2026-09-05", "2026-09-06", "2026-09-05T04:00Z", "2026-09-07T03:00Z", 2],
  ["Africa/Cairo", "2026-04-24", "2026-04-24", "2026-04-23T22:00Z", "2026-04-24T21:00Z", 1],
  ["America/Nuuk", "2026-03-28", "2026-03-28", "2026-03-28T02:00Z", "2026-03-29T01:00Z", 1],
])(
  "in %s the period from %s to %s includes the whole first and last day",
  (name, from, to, ...expected) => {
    const [start, end, days] = expected;
    const { period, zone } = read(name, from, to);
    expect(period).toEqual({ from: Date.parse(start), to: Date.parse(end), days });
    expect(writePeriod(period, zone)).toEqual({ from, to });
  },
);

test.each([
  ["America/Santiago", "2026-09-06", "2026-09-05"],
  ["Africa/Cairo", "2026-04-24", "2026-04-23"],
])(
  "in %s the day %s, which has no midnight, is compared with the whole day %s",
  (name, odd, before) => {
    const { period, zone } = read(name, odd, odd);
    const whole = read(name, before, before).period;
    expect(findPrevious(period, zone)).toEqual(whole);
    const next = read(name, before, odd);
    expect(findPrevious(next.period, zone).to).toBe(whole.from);
    // The default period has seven days, including that one.
    const usual = read(name, undefined, odd).period;
    expect(usual.days).toBe(7);
    expect(listSteps(usual, "day", zone)).toHaveLength(7);
  },
);
