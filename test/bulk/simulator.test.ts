import { expect, test } from "vitest";
import { isOnPostgres } from "../support/store-place.ts";
import { createFigures } from "./simulator/figures.ts";
import { playedFaults } from "./simulator/misdeeds.ts";
import { describeOutcome, playSeeds } from "./simulator/play-seeds.ts";

/** Jobs with every failure, in virtual time. No row is applied twice or reported wrongly. */

const figures = createFigures();
/** The failures are the same on both databases. PostgreSQL gets fewer seeds as it is slower. */
const seeds = isOnPostgres ? 15 : 100;

test("simulated jobs report the true result of every row under random failures", async () => {
  const wrong = await playSeeds({ first: 1, count: seeds }, figures);
  // Print one failed seed in full, and only the numbers of the other failed seeds.
  expect(wrong.slice(0, 1).map(describeOutcome).join("\n")).toBe("");
  expect(wrong.map(({ seed }) => seed)).toEqual([]);
});

/** Runs only on SQLite, because the faults do not depend on the database. */
test.skipIf(isOnPostgres)("the simulated jobs encountered every kind of fault", () => {
  const seen = Object.fromEntries(figures.list(""));
  for (const fault of playedFaults) expect(seen).toHaveProperty([`fault: ${fault}`]);
  // Without faults and applied rows, the previous test would prove nothing.
  for (const [name, least] of [
    ["seeds", seeds],
    ["rows: done", 4 * seeds],
    ["rows: rejected", seeds / 4],
    ["crashes", seeds / 4],
    ["undoings", seeds / 5],
    ["acts of others", seeds],
    ["suspensions", seeds / 10],
    ["rivals", seeds / 10],
    ["asked twice", seeds / 10],
    ["cancels", seeds / 20],
    ["closes", seeds / 10],
    ["clock jumps", seeds / 20],
    ["budgets spent", 1],
  ] as const) {
    expect([name, figures.read(name) >= least]).toEqual([name, true]);
  }
});
