import { afterAll, expect, test } from "vitest";
import { faults } from "./faults.ts";
import { openSoak } from "./stage.ts";

/** The short cut of each fault on PostgreSQL, on a server that may be killed. */

/**
 * Calls of many keys and the ends of pipes meet nothing of the engine; two servers have a test; a
 * full disk takes a server of its own.
 */
const elsewhere = new Set([
  "many-clients",
  "many-keys",
  "closed-pipe",
  "two-servers",
  "full-postgres",
]);

const played = faults.filter(({ name, engines }) => {
  return engines.includes("postgres") && !elsewhere.has(name);
});

const soak = openSoak({ seed: 1, isShort: true });
afterAll(() => soak[Symbol.asyncDispose]());

test.each(played)("$name: $what", async (fault) => {
  const checks = await soak.play(fault, "postgres");
  expect(checks.filter(({ isRight }) => isRight === false)).toEqual([]);
});
