import { expect, test } from "vitest";
import { openTimeZone, parseLocalTime, utc } from "../../src/contract/local-time.ts";
import { findStep, listSteps, readPeriod, type Step } from "../../src/stats/period.ts";
import { hour_ms } from "../../src/stats/visit.ts";

/** Every hour of UTC that a period has falls in one of its steps, wherever clocks stand. */

const steps: readonly Step[] = ["hour", "day", "week"];

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
  ["UTC", "2026-11-23T20:20:00Z", "2026-11-24"],
  ["Asia/Kolkata", "2026-11-23T20:20:00Z", "2026-11-24T11:11"],
  ["Europe/Berlin", "2026-10-25T01:30", "2026-10-25T05:10"],
] as const;

test.each(cases)("in %s from %s to %s no hour is left out or told twice", (name, from, to) => {
  const zone = name === "UTC" ? utc : openTimeZone(name);
  const period = readPeriod({ from, to }, zone, 0);
  if (typeof period === "string") throw new Error(period);
  const hours: number[] = [];
  for (let at = Math.ceil(period.from / hour_ms) * hour_ms; at < period.to; at += hour_ms) {
    hours.push(at);
  }
  for (const step of steps) {
    const keys = listSteps(period, step, zone);
    expect(new Set(keys).size).toBe(keys.length);
    const told = new Set(hours.map((at) => findStep(at, step, zone).key));
    expect(keys.filter((key) => told.has(key))).toEqual([...told]);
    if (step === "hour") expect(keys.map((key) => parseLocalTime(key, zone))).toEqual(hours);
  }
});
