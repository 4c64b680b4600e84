import { afterAll, expect, test } from "vitest";
import { notPlayed } from "./faults/full-disk.ts";
import { faults } from "./faults.ts";
import { openSoak } from "./stage.ts";

/**
 * A short run of each fault on SQLite, except kills, which `test/commands/durability.test.ts`
 * covers.
 */

const played = faults.filter(({ name, engines }) => {
  return engines.includes("sqlite") && name !== "kill";
});

const soak = openSoak({ seed: 1, isShort: true });
afterAll(() => soak[Symbol.asyncDispose]());

test.for(played)("$name on SQLite: $what", async (fault, { skip }) => {
  const checks = await soak.play(fault, "sqlite");
  for (const { what, seen } of checks) skip(what === notPlayed, seen);
  expect(checks.filter(({ isRight }) => isRight === false)).toEqual([]);
});
