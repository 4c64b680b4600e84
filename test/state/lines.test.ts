import { beforeEach, describe, expect, test } from "vitest";
import { readSpan } from "../../src/contract/limits.ts";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/store-place.ts";

/** Queues in which the calls of one key wait, across processes. */

const at = openStateForEach();
/** Two processes. */
let one: State;
let two: State;

beforeEach(async () => {
  one = await at.open();
  two = await at.open();
});

const hour_ms = 60 * 60_000;

/** The next turn of a job, ten a second. */
const take = ({ counters }: State, subject = "key", kind = "job_write") =>
  counters.queue({ kind, subject, window_ms: 100 }).readWait_ms(1);
const queue = ({ counters }: State, subject = "key") =>
  counters.queue({ kind: "link_writes", subject, window_ms: readSpan("link_writes") });

describe("turns in a queue", () => {
  test("follow each other whichever process asks", async () => {
    expect([await take(one), await take(two), await take(two), await take(one)]).toEqual([
      0, 100, 200, 300,
    ]);
    at.now += 250;
    expect(await take(two)).toBe(150);
  });

  test("are given once each to simultaneous calls", async () => {
    const asked = Array.from({ length: 20 }, (_, index) => take(index % 2 === 0 ? one : two));
    const waits = (await Promise.all(asked)).toSorted((a, b) => a - b);
    expect(waits).toEqual(Array.from({ length: 20 }, (_, index) => index * 100));
  });

  test("that were not used are lost", async () => {
    await take(one);
    at.now += 10_000;
    expect([await take(one), await take(two)]).toEqual([0, 100]);
  });

  test("that a closed process was waiting for are skipped one by one", async () => {
    await take(one);
    await take(one);
    await one.close();
    at.now += 100;
    expect(await take(two)).toBe(100);
    one = await at.open();
  });

  test("are separate for each key and kind", async () => {
    await take(one);
    expect([await take(two, "other"), await take(two, "key", "job_delete")]).toEqual([0, 0]);
  });

  test("start again after the clock was set back", async () => {
    await take(one);
    at.now -= hour_ms;
    expect([await take(two), await take(one)]).toEqual([0, 100]);
  });
});

describe("places in a rate limit", () => {
  const span_ms = readSpan("link_writes");
  /** Sent with each call, because another client may use half of the limit. */
  const limit = 40;

  /** So many calls that were allowed at once, by both processes in turn. */
  async function spend(count: number, pause_ms = 0): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) {
      const place = queue(turn % 2 === 0 ? one : two);
      expect(await place.readWait_ms(limit)).toBe(0);
      await place.leave(true);
      at.now += pause_ms;
    }
  }

  test("are as many as the limit for all processes together", async () => {
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

  test("are given in the order of the calls", async () => {
    await spend(limit, 750);
    const [first, second, third] = [queue(one), queue(two), queue(one)];
    const waits = [
      await first.readWait_ms(limit),
      await second.readWait_ms(limit),
      await third.readWait_ms(limit),
    ];
    // Half a minute has passed since the first call, and the others follow 750 ms apart.
    expect(waits).toEqual([31_000, 31_750, 32_500]);
    at.now += 31_000;
    // Asking early does not change the order.
    expect(await third.readWait_ms(limit)).toBe(1500);
    expect(await second.readWait_ms(limit)).toBe(750);
    expect(await first.readWait_ms(limit)).toBe(0);
  });

  test("count from the response, because the server may have counted that late", async () => {
    const slow = queue(one);
    await slow.readWait_ms(limit);
    at.now += 10_000;
    await slow.leave(true);
    await spend(limit - 1);
    at.now += span_ms - 1;
    expect(await queue(two).readWait_ms(limit)).toBe(1);
  });

  test("that are given back are free at once", async () => {
    await spend(limit - 1);
    const last = queue(one);
    expect(await last.readWait_ms(limit)).toBe(0);
    const waiting = queue(two);
    expect(await waiting.readWait_ms(limit)).toBe(span_ms);
    await last.leave(false);
    expect(await waiting.readWait_ms(limit)).toBe(0);
  });

  test("of a closed process that was waiting are free after they expire", async () => {
    await spend(limit);
    for (let turn = 0; turn < limit; turn += 1) await queue(one).readWait_ms(limit);
    await one.close();
    const behind = queue(two);
    // The closed process would have used one window, and the next call waits for the second.
    expect(await behind.readWait_ms(limit)).toBe(2 * span_ms);
    at.now += span_ms;
    expect(await behind.readWait_ms(limit)).toBe(span_ms);
    at.now += span_ms;
    expect(await behind.readWait_ms(limit)).toBe(0);
    one = await at.open();
  });

  test("of a process that closed during a call are free one window later", async () => {
    await spend(limit - 1);
    await queue(one).readWait_ms(limit);
    await one.close();
    expect(await queue(two).readWait_ms(limit)).toBe(span_ms);
    at.now += span_ms;
    expect(await queue(two).readWait_ms(limit)).toBe(0);
    one = await at.open();
  });

  test("are free after the clock was set back an hour", async () => {
    await spend(limit);
    at.now -= hour_ms;
    expect(await queue(two).readWait_ms(limit)).toBe(0);
    await spend(limit - 2);
  });

  test("are delayed by at most three windows if the clock was set back two", async () => {
    await spend(limit);
    at.now -= 2 * span_ms;
    const place = queue(one);
    expect(await place.readWait_ms(limit)).toBeLessThanOrEqual(3 * span_ms);
    at.now += 3 * span_ms;
    expect(await place.readWait_ms(limit)).toBe(0);
  });
});
