import { expect, test } from "vitest";
import { CallFailure } from "../../src/client/outcome.ts";
import { journal } from "../../src/admin/operator.ts";
import { outcomeUnknown, Problem } from "../../src/contract/problem.ts";
import { DiskFailed, OutcomeUnknown, StoreBusy } from "../../src/sql/faults.ts";
import { openStateForEach } from "../support/store-place.ts";

/** Operator actions that fail: only those without any effect are removed from the history. */

const at = openStateForEach();

async function failWith(error: Error): Promise<readonly string[]> {
  const { history } = await at.open();
  const recorder = {
    openHistory: () => Promise.resolve(history),
    report: () => undefined,
    key_print: "cli",
    client: null,
  };
  const act = { tool: "keys revoke", realm: "project", kind: "api_key", id: "1", name: null };
  const acting = journal(recorder, act, () => Promise.reject(error), describeDone);
  await expect(acting).rejects.toBe(error);
  const changes = await history.list({ realm: "project" }, { from: 0, limit: 10 });
  return changes.map(({ state }) => state);
}

const describeDone = () => ({ id: "1", name: null, before: null, after: null });

test.each([
  new OutcomeUnknown("the answer to a commit was lost"),
  new DiskFailed("the disk failed to sync"),
  outcomeUnknown(),
  new CallFailure("timed_out", "no answer", { effect: "unknown", retry: "never" }),
  Object.assign(new Error("disk I/O error"), { errcode: 10 }),
])(
  "a failed operator action stays in the history if it may have had an effect: %s",
  async (error) => {
    expect(await failWith(error)).toEqual(["begun"]);
  },
);

test.each([
  new StoreBusy("another process writes"),
  new StoreBusy("away", { outage: "away" }),
  new CallFailure("unreachable", "no way", { effect: "none", retry: "later" }),
  new Problem(404, "There is no such key."),
])("a failed operator action is not in the history if it had no effect: %s", async (error) => {
  expect(await failWith(error)).toEqual([]);
});
