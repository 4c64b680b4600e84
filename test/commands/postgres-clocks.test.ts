import { afterAll, beforeAll, expect, test } from "vitest";
import { setClockAhead } from "../support/clock.ts";
import { createFolder, run, startServe, type Folder } from "../support/command.ts";
import { takeDatabase, type TestDatabase } from "../support/postgres.ts";

/** A machine whose clock is not the database's: leases go by it, so that somebody is told. */

let database: TestDatabase;
let folder: Folder;

beforeAll(async () => {
  database = await takeDatabase();
  folder = await createFolder();
});
afterAll(async () => {
  await folder[Symbol.asyncDispose]();
  await database.giveBack();
});

const fault = /This machine's clock is (\d+\.\d) seconds (ahead of|behind) the database's/;

test.each([
  [60_000, "ahead of"],
  [-60_000, "behind"],
])("%i ms off is told once by the server, and is a fault for the doctor", async (off_ms, side) => {
  const env = { WAYPOST_DATABASE_URL: database.url, ...setClockAhead(off_ms) };
  const serving = await startServe(folder.path, [], { env });
  const { stderr } = await serving.stop();
  const warnings = stderr.split("\n").filter((line) => fault.test(line));
  expect(warnings.map((line) => JSON.parse(line).level)).toEqual([40]);
  const { code, stdout } = await run(["doctor", "--data", folder.path], { env });
  expect(code).toBe(1);
  const line = /^FAULT clock +(.*)$/m.exec(stdout)?.[1] ?? "";
  const [, seconds, told] = fault.exec(line) ?? [];
  expect(told).toBe(side);
  // How long the answer was on its way is not known.
  expect(Number(seconds)).toBeGreaterThan(50);
  expect(line).toContain("with NTP");
});

test("a second off is fine, and nothing is said of it", async () => {
  const env = { WAYPOST_DATABASE_URL: database.url, ...setClockAhead(1000) };
  const serving = await startServe(folder.path, [], { env });
  expect((await serving.stop()).stderr).not.toMatch(fault);
  const { code, stdout } = await run(["doctor", "--data", folder.path], { env });
  expect(code, stdout).toBe(0);
  expect(stdout).toMatch(/^ok +clock +agrees with the database's clock$/m);
});
