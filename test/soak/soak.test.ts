import { existsSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { notPlayed } from "./faults/full-disk.ts";
import { faults } from "./faults.ts";
import { openSoak } from "./stage.ts";

/**
 * The short cut of each fault that no other test makes, on SQLite; `postgres-soak.test.ts` has
 * those on PostgreSQL.
 */

/** Where the others are made. */
const elsewhere: Readonly<Record<string, string>> = {
  "damaged-file": "test/sql/sqlite.test.ts",
  kill: "test/commands/durability.test.ts",
  "two-servers": "test/commands/two-servers.test.ts",
  "many-keys": "test/mcp/transport/earlier-sessions.test.ts",
  "closed-pipe": "test/mcp/transport/stdio.test.ts",
};

const played = faults.filter(({ name, engines }) => {
  return engines.includes("sqlite") && elsewhere[name] === undefined;
});

const soak = openSoak({ seed: 1, isShort: true });
afterAll(() => soak[Symbol.asyncDispose]());

test.for(played)("$name on SQLite: $what", async (fault, { skip }) => {
  const checks = await soak.play(fault, "sqlite");
  for (const { what, seen } of checks) skip(what === notPlayed, seen);
  expect(checks.filter(({ isRight }) => isRight === false)).toEqual([]);
});

test.each(Object.entries(elsewhere))("%s is made in %s", (name, file) => {
  expect(faults.map((fault) => fault.name)).toContain(name);
  expect(existsSync(file)).toBe(true);
});
