import { expect, test } from "vitest";
import { watchChanges } from "../../src/store/cache.ts";

/** Tests when a cache reads the store's version again. */

/** Simulates slow reads of the version, which return the version from when they started. */
function watchSlowly() {
  const at = { now: 0, version: 1, writes: 0 };
  const looks: { readonly answer: () => void; readonly fail: () => void }[] = [];
  const readVersion = () => {
    const { version } = at;
    return new Promise<number>((resolve, reject) => {
      looks.push({ answer: () => resolve(version), fail: () => reject(new Error("away")) });
    });
  };
  const store = { countWrites: () => at.writes, readVersion };
  return { at, looks, changes: watchChanges(store, { monotonic: () => at.now }) };
}

test("requests within 20 ms share one read of the store's version", async () => {
  const { at, looks, changes } = watchSlowly();
  const first = changes.read();
  at.now = 19;
  const second = changes.read();
  looks[0]?.answer();
  expect(await second).toBe(await first);
  expect(changes.read()).toBe(await first);
  expect(looks).toHaveLength(1);
});

test("a request 20 ms after a change sees the new version even if reads are slow", async () => {
  const { at, looks, changes } = watchSlowly();
  const before = changes.read();
  at.now = 500;
  at.version = 2;
  at.now = 520;
  const after = changes.read();
  looks[1]?.answer();
  const seen = await after;
  // A late result of an earlier read must not hide the change.
  looks[0]?.answer();
  expect(await before).not.toBe(seen);
  at.now = 600;
  const later = changes.read();
  looks[2]?.answer();
  expect(await later).not.toBe(await before);
});

test("a write by the same process changes the version immediately", async () => {
  const { at, looks, changes } = watchSlowly();
  const before = changes.read();
  looks[0]?.answer();
  await before;
  at.writes = 1;
  at.version = 2;
  const after = changes.read();
  looks[1]?.answer();
  expect(await after).not.toBe(await before);
});

test("after a failed read of the store's version, the next request retries the read", async () => {
  const { looks, changes } = watchSlowly();
  const failed = changes.read();
  looks[0]?.fail();
  await expect(failed).rejects.toThrow("away");
  const next = changes.read();
  looks[1]?.answer();
  expect(await next).toBe(1);
});
