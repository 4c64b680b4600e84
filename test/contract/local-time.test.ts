import { describe, expect, test } from "vitest";
import { openTimeZone, parseLocalTime, writeLocalTime } from "../../src/contract/local-time.ts";

/** Local times in a time zone, including days on which clocks change. */

describe("writeLocalTime and parseLocalTime", () => {
  test.each([
    ["Europe/Berlin", "2026-11-22T15:14:27.999Z", "2026-11-22T16:14:27+01:00"],
    ["Europe/Berlin", "2026-06-30T22:00:00Z", "2026-07-01T00:00:00+02:00"],
    ["Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00+02:00"],
    ["Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00+01:00"],
    ["America/New_York", "2026-01-01T03:00:00Z", "2025-12-31T22:00:00-05:00"],
    ["Asia/Kathmandu", "2026-01-01T00:00:00Z", "2026-01-01T05:45:00+05:45"],
    ["UTC", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"],
  ])("convert between local time in %s and the UTC time %s", (zone, time, localTime) => {
    expect(writeLocalTime(Date.parse(time), openTimeZone(zone))).toBe(localTime);
    expect(parseLocalTime(localTime, openTimeZone(zone))).toBe(
      Math.floor(Date.parse(time) / 1000) * 1000,
    );
  });
});

describe("a time without a time zone", () => {
  test.each([
    ["Europe/Berlin", "2026-11-01", "2026-10-31T23:00:00.000Z"],
    ["Europe/Berlin", "2026-07-01", "2026-06-30T22:00:00.000Z"],
    ["Europe/Berlin", "2026-11-22 16:14", "2026-11-22T15:14:00.000Z"],
    // Clocks go forward or back in these nights.
    ["Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00.000Z"],
    ["Europe/Berlin", "2026-03-30", "2026-03-29T22:00:00.000Z"],
    ["Europe/Berlin", "2026-10-26", "2026-10-25T23:00:00.000Z"],
    ["Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30:00.000Z"],
    ["Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:30:00.000Z"],
    // Midnight does not exist: the day starts at one o'clock.
    ["America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000Z"],
  ])("is read as local time in %s: %s", (zone, text, time) => {
    const read = parseLocalTime(text, openTimeZone(zone));
    expect(read === null ? null : new Date(read).toISOString()).toBe(time);
  });
});

test.each([
  "2026-11-01Z",
  "2026-11-01T00:00:00Z",
  "2026-11-01T01:00+01:00",
  "2026-11-01 00:00 UTC",
])("%s is read in the time zone that it contains", (text) => {
  expect(parseLocalTime(text, openTimeZone("Asia/Tokyo"))).toBe(Date.UTC(2026, 10, 1));
});

test.each(["", "2026-13-01", "2026-04-31", "yesterday"])("%j is not a valid local time", (text) => {
  expect(parseLocalTime(text, openTimeZone("Europe/Berlin"))).toBeNull();
});
