import { expect, test } from "vitest";
import { isOnPostgres } from "../support/store-place.ts";
import { createFigures } from "./simulator/figures.ts";
import { playedFaults } from "./simulator/misdeeds.ts";
import { describeOutcome, playSeeds } from "./simulator/play-seeds.ts";

/**
 * Jobs through everything that can befall them, in virtual time: no row is done twice, none is
 * called done that is not, and none is called rejected that was done. More: `npm run simulate`.
 */

const figures = createFigures();
/** What happens to them is the same on both engines, and one over a wire takes twice as long. */
const seeds = isOnPostgres ? 15 : 100;

test("jobs end as they say, whatever happens to them", async () => {
  const wrong = await playSeeds({ first: 1, count: seeds }, figures);
  // One is enough to read; the others are named.
  expect(wrong.slice(0, 1).map(describeOutcome).join("\n")).toBe("");
  expect(wrong.map(({ seed }) => seed)).toEqual([]);
});

/** The same faults come on both engines, and more of them in more seeds. */
test.skipIf(isOnPostgres)("and a good deal has happened to them", () => {
  const seen = Object.fromEntries(figures.list(""));
  for (const fault of playedFaults) expect(seen).toHaveProperty([`fault: ${fault}`]);
  // A simulator in which nothing happened, or nothing was done, would pass everything above.
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
