import { expect, test } from "vitest";
import { createRecent } from "../../src/host/recent.ts";

/** What was used lately, in bounded memory. */

const limit = 100;

function fill(count: number) {
  const kept = createRecent<number>(limit);
  for (let key = 0; key < count; key += 1) kept.keep(String(key), key);
  return kept;
}

test("the younger half of what may be kept is there, and never more than all of it", () => {
  for (const count of [50, 99, 100, 101, 149, 150, 1234]) {
    const kept = fill(count);
    const keys = Array.from({ length: count }, (_, key) => key).toReversed();
    // The youngest first, for whatever is asked for becomes younger.
    const found = keys.filter((key) => kept.find(String(key)) === key);
    expect([count, found.slice(0, limit / 2)]).toEqual([count, keys.slice(0, limit / 2)]);
    expect(found.length).toBeLessThanOrEqual(limit);
  }
});

test("what is asked for again and again stays, however much comes meanwhile", () => {
  const kept = createRecent<number>(limit);
  kept.keep("often", -1);
  for (let key = 0; key < 1000; key += 1) {
    kept.keep(String(key), key);
    if (key % 40 === 0) expect([key, kept.find("often")]).toEqual([key, -1]);
  }
  expect(kept.find("0")).toBeUndefined();
});

test("what is kept again has its new value, in whichever half it was", () => {
  const kept = fill(60);
  for (const key of ["0", "59"]) {
    kept.keep(key, 1000);
    expect([key, kept.find(key)]).toEqual([key, 1000]);
  }
});
