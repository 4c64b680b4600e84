import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createCheckpoints } from "../../src/sql/sqlite.ts";

/** Tests when a checkpoint copies the write-ahead log into the database file. */

function openCheckpoints() {
  const ends: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  const noteCommit = createCheckpoints(
    () => new Promise<void>((resolve, reject) => ends.push({ resolve, reject })),
  );
  return {
    ends,
    commit: (times: number) => {
      for (let time = 0; time < times; time += 1) noteCommit();
    },
  };
}

test("a checkpoint starts after 50 commits, unless another checkpoint is running", async () => {
  const { ends, commit } = openCheckpoints();
  commit(49);
  expect(ends).toHaveLength(0);
  commit(1);
  expect(ends).toHaveLength(1);
  commit(120);
  expect(ends).toHaveLength(1);
  ends[0]?.resolve();
  await setImmediate();
  commit(1);
  expect(ends).toHaveLength(2);
});

test("a failed checkpoint is retried after another 50 commits", async () => {
  const { ends, commit } = openCheckpoints();
  commit(50);
  ends[0]?.reject(new Error("the thread has ended"));
  await setImmediate();
  commit(50);
  expect(ends).toHaveLength(2);
});
