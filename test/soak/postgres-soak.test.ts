import { afterAll, expect, test } from "vitest";
import { notPlayed } from "./faults/full-disk.ts";
import { faults } from "./faults.ts";
import { openSoak } from "./stage.ts";

/** The short cut of each fault on PostgreSQL, on a server that may be killed. */

/** Calls of many keys and the ends of pipes meet nothing of the engine; two servers have a test. */
const elsewhere = new Set(["many-keys", "closed-pipe", "two-servers"]);

const played = faults.filter(({ name, engines }) => {
  return engines.includes("postgres") && !elsewhere.has(name);
});

const soak = openSoak({ seed: 1, isShort: true });
afterAll(() => soak[Symbol.asyncDispose]());

test.for(played)("$name: $what", async (fault, { skip }) => {
  const checks = await soak.play(fault, "postgres");
  for (const { what, seen } of checks) skip(what === notPlayed, seen);
  expect(checks.filter(({ isRight }) => isRight === false)).toEqual([]);
});
