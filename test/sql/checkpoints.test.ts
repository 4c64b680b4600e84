import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Ran } from "../../src/sql/run-statements.ts";
import { createCheckpoints } from "../../src/sql/sqlite-log.ts";

/** When the log is carried over into the file, and who waits for it. */

test("fifty commits are carried over together, beside those who write", async () => {
  const { checkpoints, commit, carry, count } = openCheckpoints();
  commit(49);
  expect(count()).toBe(0);
  commit(1);
  expect(count()).toBe(1);
  commit(120);
  // One at a time.
  expect(count()).toBe(1);
  await carry({ log: 9999, carried: 9000 });
  expect(checkpoints.findHold()).toBeUndefined();
  commit(1);
  expect(count()).toBe(2);
});

test("once the log is long, writers wait until all of it is carried over", async () => {
  const { checkpoints, commit, carry, count } = openCheckpoints();
  commit(50);
  await carry({ log: 10_000, carried: 9900 });
  expect(count()).toBe(2);
  const hold = checkpoints.findHold();
  expect(hold).toBeDefined();
  await carry({ log: 10_100, carried: 10_100 });
  await hold;
  expect(checkpoints.findHold()).toBeUndefined();
});

test("nobody waits for what fails, and it is tried again", async () => {
  const { checkpoints, commit, carry, fail, count } = openCheckpoints();
  commit(50);
  await fail();
  commit(50);
  await carry({ log: 10_000, carried: 0 });
  const hold = checkpoints.findHold();
  await fail();
  await hold;
  expect(checkpoints.findHold()).toBeUndefined();
  await setImmediate();
  commit(50);
  expect(count()).toBe(4);
});

function openCheckpoints() {
  const asked: { resolve: (ran: Ran) => void; reject: (error: Error) => void }[] = [];
  let answered = 0;
  const checkpoints = createCheckpoints((work) =>
    work(() => new Promise((resolve, reject) => asked.push({ resolve, reject }))),
  );
  const next = () => asked[(answered += 1) - 1] ?? expect.fail("nothing is carried over");
  return {
    checkpoints,
    commit: (times: number) => {
      for (let time = 0; time < times; time += 1) checkpoints.noteCommit();
    },
    carry: async (pages: { readonly log: number; readonly carried: number }) => {
      next().resolve({ rows: [{ log: pages.log, checkpointed: pages.carried }] });
      await setImmediate();
    },
    fail: async () => {
      next().reject(new Error("the thread has ended"));
      await setImmediate();
    },
    count: () => asked.length,
  };
}
