import { expect, test } from "vitest";
import { setClockAhead } from "../support/clock.ts";
import { createFolder, run, startServe, type Folder } from "../support/command.ts";
import { takeDatabase, type TestDatabase } from "../support/postgres.ts";
import { openForAll } from "../support/open-for.ts";

/** A machine's clock must agree with the database's, because leases depend on both. */

let database: TestDatabase;
let folder: Folder;

openForAll(takeDatabase, async (opened, keep) => {
  database = opened;
  folder = keep(await createFolder());
});

const fault = /This machine's clock is (\d+\.\d) seconds (ahead of|behind) the database's/;

test.each([
  [60_000, "ahead of"],
  [-60_000, "behind"],
])(
  "a clock that differs from the database's by %i ms is logged once by serve and shown by doctor",
  async (off_ms, side) => {
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
    // The transfer time of the response is unknown.
    expect(Number(seconds)).toBeGreaterThan(50);
    expect(line).toContain("with NTP");
  },
);

test("a clock that is one second off the database's clock is not reported", async () => {
  const env = { WAYPOST_DATABASE_URL: database.url, ...setClockAhead(1000) };
  const serving = await startServe(folder.path, [], { env });
  expect((await serving.stop()).stderr).not.toMatch(fault);
  const { code, stdout } = await run(["doctor", "--data", folder.path], { env });
  expect(code, stdout).toBe(0);
  expect(stdout).toMatch(/^ok +clock +agrees with the database's clock$/m);
});
