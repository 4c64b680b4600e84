import { expect, test } from "vitest";
import { StoreUnusable } from "../../../../src/sql/faults.ts";
import type { History } from "../../../../src/state/history.ts";
import { answering, openStage, ownerFacts } from "../../../support/stage.ts";

/** A write is not sent if its change cannot be saved in the history. */

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

/** A history that fails in `begin`, the only method that is called. */
const beginningNone = { begin: () => Promise.reject(full) } as unknown as History;

test.each<[string, () => Promise<History>, object]>([
  [
    "cannot be opened on a full disk",
    () => Promise.reject(new StoreUnusable("a", { cause: full })),
    fullDisk,
  ],
  ["cannot be written on a full disk", () => Promise.resolve(beginningNone), fullDisk],
  ["is damaged", () => Promise.reject(new StoreUnusable("state.db is damaged")), fault],
])(
  "a write is rejected without sending a request if the history %s",
  async (_, openHistory, expected) => {
    const known = { facts: ownerFacts };
    await using stage = await openStage({ send: answering(201, {}), known, openHistory });
    const { isError, structured } = await stage.callTool("create_link", { path: "spring" });
    const error = { code: "internal", effect: "none", ...expected };
    expect([isError, structured]).toEqual([true, { error }]);
    expect(stage.asked.filter((line) => line.startsWith("POST"))).toEqual([]);
  },
);
