import { expect, test } from "vitest";
import { createRecentCache } from "../../src/host/recent-cache.ts";

/** What was used lately, in bounded memory. */

const limit = 100;

function fill(count: number) {
  const cache = createRecentCache<number>(limit);
  for (let key = 0; key < count; key += 1) cache.set(String(key), key);
  return cache;
}

test("the younger half of what may be kept is there, and never more than all of it", () => {
  for (const count of [50, 99, 100, 101, 149, 150, 1234]) {
    const cache = fill(count);
    const keys = Array.from({ length: count }, (_, key) => key).toReversed();
    // The youngest first, for whatever is asked for becomes younger.
    const found = keys.filter((key) => cache.find(String(key)) === key);
    expect([count, found.slice(0, limit / 2)]).toEqual([count, keys.slice(0, limit / 2)]);
    expect(found.length).toBeLessThanOrEqual(limit);
  }
});

test("what is asked for again and again stays, however much comes meanwhile", () => {
  const cache = createRecentCache<number>(limit);
  cache.set("often", -1);
  for (let key = 0; key < 1000; key += 1) {
    cache.set(String(key), key);
    if (key % 40 === 0) expect([key, cache.find("often")]).toEqual([key, -1]);
  }
  expect(cache.find("0")).toBeUndefined();
});

test("what is kept again has its new value, in whichever half it was", () => {
  const cache = fill(60);
  for (const key of ["0", "59"]) {
    cache.set(key, 1000);
    expect([key, cache.find(key)]).toEqual([key, 1000]);
  }
});
