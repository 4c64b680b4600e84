import { expect, test } from "vitest";
import { StoreUnusable } from "../../../../src/sql/faults.ts";
import type { History } from "../../../../src/state/history.ts";
import { answering, openStage, ownerFacts } from "../../../support/stage.ts";

/** Where a write cannot be noted: the disk has no room for it, or the file is of no use. */

const full = Object.assign(new Error("database or disk is full"), { errcode: 13 });

const fullDisk = {
  message: "The database's disk is full, so nothing was written.",
  retry: "later",
  next: expect.stringMatching(/^Ask the user to make room on the disk .* call create_link again/),
};
const fault = {
  message: "Something went wrong inside Waypost (reference reference-1).",
  retry: "now",
  next: expect.stringContaining("ive the user the reference"),
};

/** A history of which nothing else is asked. */
const beginningNone = { begin: () => Promise.reject(full) } as unknown as History;

test.each<[string, () => Promise<History>, object]>([
  [
    "cannot be opened on a full disk",
    () => Promise.reject(new StoreUnusable("a", { cause: full })),
    fullDisk,
  ],
  ["takes no more on a full disk", () => Promise.resolve(beginningNone), fullDisk],
  ["is damaged", () => Promise.reject(new StoreUnusable("state.db is damaged")), fault],
])("where the history %s nothing is asked for, and it is said", async (_, openHistory, told) => {
  const known = { facts: ownerFacts };
  await using stage = await openStage({ send: answering(201, {}), known, openHistory });
  const { isError, structured } = await stage.callTool("create_link", { path: "spring" });
  const error = { code: "internal", effect: "none", ...told };
  expect([isError, structured]).toEqual([true, { error }]);
  expect(stage.asked.filter((line) => line.startsWith("POST"))).toEqual([]);
});
