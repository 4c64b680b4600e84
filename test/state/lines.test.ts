import { beforeEach, describe, expect, test } from "vitest";
import { readSpan } from "../../src/contract/limits.ts";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/store-place.ts";

/** Tests the queues in which calls of a key wait, across processes. */

const at = openStateForEach();
/** Two processes. */
let one: State;
let two: State;

beforeEach(async () => {
  one = await at.open();
  two = await at.open();
});

const hour_ms = 60 * 60_000;

/** Reserves the next slot of a job and returns its wait. A job has ten slots a second. */
const take = ({ counters }: State, subject = "key", kind = "job_write") =>
  counters.queue({ kind, subject, window_ms: 100 }).readWait_ms(1);
const queue = ({ counters }: State, subject = "key") =>
  counters.queue({ kind: "link_writes", subject, window_ms: readSpan("link_writes") });

describe("a job queue's slots", () => {
  test("are consecutive, whichever process reserves them", async () => {
    expect([await take(one), await take(two), await take(two), await take(one)]).toEqual([
      0, 100, 200, 300,
    ]);
    at.now += 250;
    expect(await take(two)).toBe(150);
  });

  test("are each assigned to only one of several concurrent calls", async () => {
    const asked = Array.from({ length: 20 }, (_, index) => take(index % 2 === 0 ? one : two));
    const waits = (await Promise.all(asked)).toSorted((a, b) => a - b);
    expect(waits).toEqual(Array.from({ length: 20 }, (_, index) => index * 100));
  });

  test("do not accumulate while no process uses them", async () => {
    await take(one);
    at.now += 10_000;
    expect([await take(one), await take(two)]).toEqual([0, 100]);
  });

  test("stay reserved after the process that reserved them has shut down", async () => {
    await take(one);
    await take(one);
    await one.close();
    at.now += 100;
    expect(await take(two)).toBe(100);
    one = await at.open();
  });

  test("are counted separately for each key and each kind of job", async () => {
    await take(one);
    expect([await take(two, "other"), await take(two, "key", "job_delete")]).toEqual([0, 0]);
  });

  test("start at the current time again after the clock is set back", async () => {
    await take(one);
    at.now -= hour_ms;
    expect([await take(two), await take(one)]).toEqual([0, 100]);
  });
});

describe("rate-limit slots", () => {
  const span_ms = readSpan("link_writes");
  /** The part of the limit that Waypost uses, because another client may use the rest. */
  const limit = 40;

  async function spend(count: number, pause_ms = 0): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) {
      const place = queue(turn % 2 === 0 ? one : two);
      expect(await place.readWait_ms(limit)).toBe(0);
      await place.leave(true);
      at.now += pause_ms;
    }
  }

  test("are limited across all processes", async () => {
    await spend(limit);
    for (const state of [one, two]) {
      const place = queue(state);
      expect(await place.readWait_ms(limit)).toBe(span_ms);
      await place.leave(false);
    }
    expect(await queue(one, "other").readWait_ms(limit)).toBe(0);
    at.now += span_ms;
    expect(await queue(two).readWait_ms(limit)).toBe(0);
  });

  test("are assigned in the order of the calls", async () => {
    await spend(limit, 750);
    const [first, second, third] = [queue(one), queue(two), queue(one)];
    const waits = [
      await first.readWait_ms(limit),
      await second.readWait_ms(limit),
      await third.readWait_ms(limit),
    ];
    // Half a minute has passed since the first call, and the calls were 750 ms apart.
    expect(waits).toEqual([31_000, 31_750, 32_500]);
    at.now += 31_000;
    // Reading the wait early does not change the order.
    expect(await third.readWait_ms(limit)).toBe(1500);
    expect(await second.readWait_ms(limit)).toBe(750);
    expect(await first.readWait_ms(limit)).toBe(0);
  });

  test("count toward the limit until one window after the response", async () => {
    const slow = queue(one);
    await slow.readWait_ms(limit);
    at.now += 10_000;
    await slow.leave(true);
    await spend(limit - 1);
    at.now += span_ms - 1;
    expect(await queue(two).readWait_ms(limit)).toBe(1);
  });

  test("are released immediately if the call was not sent", async () => {
    await spend(limit - 1);
    const last = queue(one);
    expect(await last.readWait_ms(limit)).toBe(0);
    const waiting = queue(two);
    expect(await waiting.readWait_ms(limit)).toBe(span_ms);
    await last.leave(false);
    expect(await waiting.readWait_ms(limit)).toBe(0);
  });

  test("are released when they expire if the process that reserved them shuts down", async () => {
    await spend(limit);
    for (let turn = 0; turn < limit; turn += 1) await queue(one).readWait_ms(limit);
    await one.close();
    const behind = queue(two);
    // The waiting calls of the closed process fill the next window.
    expect(await behind.readWait_ms(limit)).toBe(2 * span_ms);
    at.now += span_ms;
    expect(await behind.readWait_ms(limit)).toBe(span_ms);
    at.now += span_ms;
    expect(await behind.readWait_ms(limit)).toBe(0);
    one = await at.open();
  });

  test("are released after one window if their process shuts down during a call", async () => {
    await spend(limit - 1);
    await queue(one).readWait_ms(limit);
    await one.close();
    expect(await queue(two).readWait_ms(limit)).toBe(span_ms);
    at.now += span_ms;
    expect(await queue(two).readWait_ms(limit)).toBe(0);
    one = await at.open();
  });

  test("are released if the clock is set back an hour", async () => {
    await spend(limit);
    at.now -= hour_ms;
    expect(await queue(two).readWait_ms(limit)).toBe(0);
    await spend(limit - 2);
  });

  test("are released within three windows if the clock is set back by two windows", async () => {
    await spend(limit);
    at.now -= 2 * span_ms;
    const place = queue(one);
    expect(await place.readWait_ms(limit)).toBeLessThanOrEqual(3 * span_ms);
    at.now += 3 * span_ms;
    expect(await place.readWait_ms(limit)).toBe(0);
  });
});
