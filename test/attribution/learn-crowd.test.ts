import { expect, test } from "vitest";
import { learnCrowd } from "../../src/attribution/crowding.ts";

/** What is learned of how many share an address, window after window. */

const window_ms = 600_000;
const at = Date.UTC(2026, 0, 15, 12);
const learn = (known: Parameters<typeof learnCrowd>[0], visits: number, now: number) =>
  learnCrowd(known, { visits, others: visits * 2 }, { now, window_ms });
const first = learn(undefined, 100, at);

test("a window counts once, and a little less after each that follows", () => {
  expect(first).toEqual({ visits: 100, others: 200, at });
  expect(learn(first, 50, at + window_ms - 1)).toBe(first);
  const now = at + window_ms;
  expect(learn(first, 50, now)).toEqual({ visits: 149, others: 298, at: now });
});

test("where nobody has ever visited nothing is learned", () => {
  const none = learn(undefined, 0, at);
  expect(learn(none, 0, at + 100 * window_ms)).toBe(none);
  expect(learn(first, 0, at + 100 * window_ms).visits).toBe(99);
});

test("a clock that was put back holds learning up for a window at most", () => {
  expect(learn(first, 50, at - 1)).toBe(first);
  expect(learn(first, 50, at - window_ms).visits).toBe(149);
});
