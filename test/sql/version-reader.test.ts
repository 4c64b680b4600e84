import { expect, test } from "vitest";
import { shareNext } from "../../src/sql/share-next.ts";
import { watchChanges } from "../../src/store/cache.ts";

/** When whoever keeps what it has read is sent to read it again. */

/** Looks that see what was committed when they began, and answer when the test lets them. */
function watchSlowly() {
  const at = { now: 0, version: 1 };
  const answers: { readonly answer: () => void; readonly fail: () => void }[] = [];
  const read = shareNext(() => {
    const { version } = at;
    return new Promise<number>((resolve, reject) => {
      answers.push({ answer: () => resolve(version), fail: () => reject(new Error("away")) });
    });
  });
  /** Ends the look that is under way; the one after it, if any, has begun then. */
  const end = async (how: "answer" | "fail" = "answer") => {
    answers.at(-1)?.[how]();
    await new Promise(setImmediate);
  };
  return { at, read, end, countLooks: () => answers.length };
}

test("whoever asks while a look is under way is answered by the next, and all by one", async () => {
  const { at, read, end, countLooks } = watchSlowly();
  const first = read();
  at.version = 2;
  const [second, third] = [read(), read()];
  expect(countLooks()).toBe(1);
  await end();
  expect(countLooks()).toBe(2);
  at.version = 3;
  const fourth = read();
  expect(countLooks()).toBe(2);
  await end();
  await end();
  expect(countLooks()).toBe(3);
  const versions = await Promise.all([first, second, third, fourth]);
  expect(versions).toEqual([1, 2, 2, 3]);
  const last = read();
  await end();
  expect([await last, countLooks()]).toEqual([3, 4]);
});

test("a look that fails is for those who asked before it alone", async () => {
  const { read, end, countLooks } = watchSlowly();
  const failed = expect(read()).rejects.toThrow("away");
  const next = read();
  await end("fail");
  await end();
  await failed;
  expect([await next, countLooks()]).toEqual([1, 2]);
});

test("however long a look takes, whoever comes 20 ms after a change knows of it", async () => {
  const { at, read, end, countLooks } = watchSlowly();
  const clock = { monotonic: () => at.now };
  const changes = watchChanges({ countWrites: () => 0, readVersion: read }, clock);
  const before = changes.read();
  at.now = 500;
  at.version = 2;
  at.now = 520;
  const after = changes.read();
  at.now = 1000;
  await end();
  at.now = 1500;
  await end();
  const seen = await after;
  expect(seen).not.toBe(await before);
  // What it was told is as old as its look, and not as its answer.
  at.version = 3;
  const later = changes.read();
  await end();
  expect([(await later) === seen, countLooks()]).toEqual([false, 3]);
});
