import { afterAll, expect, test } from "vitest";
import { notPlayed } from "./faults/full-disk.ts";
import { faults } from "./faults.ts";
import { openSoak } from "./stage.ts";

/** A short run of each fault on PostgreSQL, on a server that may be killed. */

const played = faults.filter(({ engines }) => engines.includes("postgres"));

const soak = openSoak({ seed: 1, isShort: true });
afterAll(() => soak[Symbol.asyncDispose]());

test.for(played)("$name: $what", async (fault, { skip }) => {
  const checks = await soak.play(fault, "postgres");
  for (const { what, seen } of checks) skip(what === notPlayed, seen);
  expect(checks.filter(({ isRight }) => isRight === false)).toEqual([]);
});
