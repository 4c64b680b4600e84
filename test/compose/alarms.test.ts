import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createAlarms } from "../../src/compose/alarms.ts";
import type { SetAlarm } from "../../src/contract/clock.ts";
import { measureLeftOld } from "../support/measure-held.ts";

/** Alarms upon one timer, which ring as if each had one of its own. */

let setAlarm: SetAlarm;
/** The clock that never jumps, which a blocked process may find far ahead of its timers. */
let now = 0;
let rung: string[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  [now, rung] = [0, []];
  setAlarm = createAlarms({ monotonic: () => now });
});

afterEach(() => void vi.useRealTimers());

function pass(milliseconds: number): void {
  now += milliseconds;
  vi.advanceTimersByTime(milliseconds);
}

const ring = (name: string) => () => void rung.push(name);

test("each rings when its time has come, once", () => {
  setAlarm(20, ring("second"));
  setAlarm(10, ring("first"));
  pass(9);
  expect(rung).toEqual([]);
  pass(1);
  expect(rung).toEqual(["first"]);
  pass(9);
  expect(rung).toEqual(["first"]);
  pass(1000);
  expect(rung).toEqual(["first", "second"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("those that are late ring in the order of their times", () => {
  setAlarm(30, ring("third"));
  setAlarm(10, ring("first"));
  setAlarm(20, ring("second"));
  now += 1000;
  vi.advanceTimersByTime(10);
  expect(rung).toEqual(["first", "second", "third"]);
});

test("those that are due at once ring in the order in which they were set", () => {
  const stop = setAlarm(5, ring("taken back"));
  for (const name of ["first", "second", "third"]) setAlarm(10, ring(name));
  stop();
  pass(1000);
  expect(rung).toEqual(["first", "second", "third"]);
});

test("those that are taken back let go at once of what they would have rung for", async () => {
  const [turns, weight_bytes, usual] = [200, 40_000, 4];
  const underWay: (() => void)[] = [];
  const set = () => {
    const burden = Array.from({ length: weight_bytes / 8 }, () => 0);
    underWay.push(setAlarm(10_000, () => void burden.pop()));
  };
  for (let turn = 0; turn < usual; turn += 1) set();
  // What is there before is old by then.
  const left = await measureLeftOld(() => {
    for (let turn = 0; turn < turns; turn += 1) {
      set();
      underWay.shift()?.();
    }
  });
  expect(left / (turns * weight_bytes)).toBeLessThan(0.5);
});

test("one that was taken back never rings, even by another that rings at the same moment", () => {
  setAlarm(10, () => {
    rung.push("first");
    stop();
  });
  const stop = setAlarm(10, ring("taken back"));
  setAlarm(5, ring("earlier"))();
  pass(1000);
  expect(rung).toEqual(["first"]);
});

test("one that is set by another that rings has its own time", () => {
  setAlarm(10, () => setAlarm(10, ring("inner")));
  setAlarm(50, ring("outer"));
  pass(10);
  expect(rung).toEqual([]);
  pass(10);
  expect(rung).toEqual(["inner"]);
  pass(30);
  expect(rung).toEqual(["inner", "outer"]);
});

test("one that throws takes none with it", () => {
  setAlarm(10, () => {
    throw new Error("broken");
  });
  setAlarm(10, ring("same time"));
  setAlarm(20, ring("later"));
  expect(() => pass(10)).toThrow("broken");
  pass(10);
  expect(rung).toEqual(["same time", "later"]);
});

test("a timer that wakes too early is set again", () => {
  setAlarm(10, ring("in time"));
  vi.advanceTimersByTime(10);
  expect(rung).toEqual([]);
  now = 10;
  vi.advanceTimersByTime(10);
  expect(rung).toEqual(["in time"]);
});

test("very many ring, and wait, like few", () => {
  const many = 200_000;
  let count = 0;
  for (let at = 0; at < many; at += 1) setAlarm(at % 2 === 0 ? 10 : 1000, () => (count += 1));
  pass(10);
  expect(count).toBe(many / 2);
  pass(1000);
  expect(count).toBe(many);
});
