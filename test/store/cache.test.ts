import { expect, test } from "vitest";
import { createCache } from "../../src/store/cache.ts";
import { measureHeld } from "../support/measure-held.ts";

/** Tests the cache of limited size, which stores recently used values. */

const limit = 100;

function fill(count: number) {
  const cache = createCache<number>(limit);
  for (let key = 0; key < count; key += 1) cache.set(String(key), key);
  return cache;
}

test("a full cache evicts its oldest values", () => {
  for (const count of [50, 99, 100, 101, 149, 150, 1234]) {
    const cache = fill(count);
    const keys = Array.from({ length: count }, (_, key) => key);
    const found = keys.filter((key) => cache.find(String(key)) === key);
    expect([count, found]).toEqual([count, keys.slice(-limit)]);
  }
});

test("a frequently read value stays in the cache", () => {
  const cache = createCache<number>(limit);
  cache.set("often", -1);
  for (let key = 0; key < 1000; key += 1) {
    cache.set(String(key), key);
    if (key % 40 === 0) expect([key, cache.find("often")]).toEqual([key, -1]);
  }
  expect(cache.find("0")).toBeUndefined();
});

test("setting a cached key again replaces its value", () => {
  const cache = fill(60);
  for (const key of ["0", "59"]) {
    cache.set(key, 1000);
    expect([key, cache.find(key)]).toEqual([key, 1000]);
  }
});

test("setting a key many times does not increase the cache's memory use", async () => {
  const cache = fill(60);
  const before = await measureHeld();
  for (let turn = 0; turn < 200_000; turn += 1) cache.set("0", turn);
  expect((await measureHeld()) - before).toBeLessThan(1_000_000);
  expect(cache.find("0")).toBe(199_999);
});

test("a large value takes as much space in the cache as several small values", () => {
  const cache = createCache<string>(limit, ({ length }) => length);
  const find = (keys: readonly string[]) => keys.filter((key) => cache.find(key) !== undefined);
  for (let turn = 0; turn < 100; turn += 1) cache.set("light", "x");
  for (const key of ["a", "b"]) cache.set(key, "x".repeat(20));
  expect(find(["light", "a", "b"])).toEqual(["light", "a", "b"]);
  cache.set("heavy", "x".repeat(59));
  expect(find(["light", "a", "b", "heavy"])).toEqual(["light", "a", "b", "heavy"]);
  cache.set("more", "x".repeat(40));
  expect(find(["light", "a", "b"])).toEqual([]);
  expect(find(["heavy", "more"])).toEqual(["heavy", "more"]);
});
