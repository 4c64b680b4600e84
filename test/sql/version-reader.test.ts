import { expect, test } from "vitest";
import { createVersionReader } from "../../src/sql/postgres-version.ts";

/** When whoever keeps what it has read is sent to read it again. */

function watch(isSpread: boolean) {
  const at = { now: 0, numbers: "a 1" };
  const read = createVersionReader({
    run: () => Promise.resolve({ rows: [{ string_agg: at.numbers }] }),
    countCommits: () => 0,
    isSpread,
    now: () => at.now,
  });
  return { at, read };
}

test("a version is another one after a write, and stays until the next", async () => {
  const { at, read } = watch(false);
  const first = await read();
  at.now += 60_000;
  expect(await read()).toBe(first);
  at.numbers = "a 2";
  const second = await read();
  expect(second).not.toBe(first);
  at.now += 60_000;
  expect(await read()).toBe(second);
});

test("where machines commit one after the other, all look again later", async () => {
  const { at, read } = watch(true);
  const looks: number[] = [];
  let last = await read();
  const pass = async (until: number) => {
    for (; at.now < until; at.now += 50) {
      const version = await read();
      if (version !== last) looks.push(at.now);
      last = version;
    }
  };
  await pass(20_000);
  expect(looks.splice(0)).toEqual([100, 1000, 10_000]);
  at.numbers = "a 2";
  await pass(20_500);
  at.numbers = "a 3";
  await pass(60_000);
  expect(looks).toEqual([20_000, 20_100, 20_500, 20_600, 21_500, 30_500]);
});
