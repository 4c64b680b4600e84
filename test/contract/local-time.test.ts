import { describe, expect, test } from "vitest";
import { openTimeZone, parseLocalTime, writeLocalTime } from "../../src/contract/local-time.ts";

/** Moments on the clocks of a zone, on the days too on which these are changed. */

describe("a moment is told as a zone's clocks show it", () => {
  test.each([
    ["Europe/Berlin", "2026-11-22T15:14:27.999Z", "2026-11-22T16:14:27+01:00"],
    ["Europe/Berlin", "2026-06-30T22:00:00Z", "2026-07-01T00:00:00+02:00"],
    ["Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00+02:00"],
    ["Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00+01:00"],
    ["America/New_York", "2026-01-01T03:00:00Z", "2025-12-31T22:00:00-05:00"],
    ["Asia/Kathmandu", "2026-01-01T00:00:00Z", "2026-01-01T05:45:00+05:45"],
    ["UTC", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"],
  ])("%s %s", (zone, time, told) => {
    expect(writeLocalTime(Date.parse(time), openTimeZone(zone))).toBe(told);
    expect(parseLocalTime(told, openTimeZone(zone))).toBe(
      Math.floor(Date.parse(time) / 1000) * 1000,
    );
  });
});

describe("what names no zone is read on the zone's clocks", () => {
  test.each([
    ["Europe/Berlin", "2026-11-01", "2026-10-31T23:00:00.000Z"],
    ["Europe/Berlin", "2026-07-01", "2026-06-30T22:00:00.000Z"],
    ["Europe/Berlin", "2026-11-22 16:14", "2026-11-22T15:14:00.000Z"],
    // On these nights clocks are set forward and back.
    ["Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00.000Z"],
    ["Europe/Berlin", "2026-03-30", "2026-03-29T22:00:00.000Z"],
    ["Europe/Berlin", "2026-10-26", "2026-10-25T23:00:00.000Z"],
    ["Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30:00.000Z"],
    ["Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:30:00.000Z"],
    // A midnight that no clock shows: the day begins at one.
    ["America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000Z"],
  ])("%s %s", (zone, text, time) => {
    const read = parseLocalTime(text, openTimeZone(zone));
    expect(read === null ? null : new Date(read).toISOString()).toBe(time);
  });
});

test.each([
  "2026-11-01Z",
  "2026-11-01T00:00:00Z",
  "2026-11-01T01:00+01:00",
  "2026-11-01 00:00 UTC",
])("%s names its zone itself", (text) => {
  expect(parseLocalTime(text, openTimeZone("Asia/Tokyo"))).toBe(Date.UTC(2026, 10, 1));
});

test.each(["", "2026-13-01", "2026-04-31", "yesterday"])("%j is no time", (text) => {
  expect(parseLocalTime(text, openTimeZone("Europe/Berlin"))).toBeNull();
});
