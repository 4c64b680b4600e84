import { existsSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { begin, createFolder, run, runJson, startServe } from "../support/command.ts";
import { createGate } from "../support/gate.ts";
import { connectV2 } from "../support/mcp-clients.ts";
import { query, takeDatabase } from "../support/postgres.ts";
import { waitUntil } from "../support/wait-until.ts";

/** Who has a database open, though it asks nothing of it: what `waypost migrate` has to know. */

test("a database that an idle process has open is not migrated until that is gone", async () => {
  const database = await takeDatabase();
  await using folder = await createFolder();
  await using other = await createFolder();
  const env = { WAYPOST_DATABASE_URL: database.url };
  const move = () =>
    run(["migrate", "--to", `sqlite:${other.path}`, "--data", folder.path], { env });
  const count = async () => {
    const [row] = await query(database.url, "select count(*)::int as all from waypost_processes");
    return row?.["all"];
  };
  await using serving = await startServe(folder.path, [], { env });
  const refused = await move();
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  const who = `\\(\\S+, process ${serving.pid}, seen \\d+ seconds ago\\)`;
  expect(refused.stderr).toMatch(new RegExp(`another process uses the data ${who}; stop every`));
  expect(existsSync(other.path)).toBe(false);
  // Who ends in order is forgotten at once.
  await serving.stop();
  expect(await count()).toBe(0);
  await using local = await connectV2({ transport: "stdio", data: folder.path, env });
  await local.callTool("list_links");
  expect((await move()).stderr).toContain(`process ${local.process?.pid},`);
  await local.close();
  expect(await count()).toBe(0);

  await using killed = await startServe(folder.path, [], { env });
  await killed.stop("SIGKILL");
  expect((await move()).stderr).toContain("a killed process is ignored after 30 seconds");
  await query(
    database.url,
    "update waypost_processes set seen_at = seen_at - interval '31 seconds'",
  );
  expect(await move()).toMatchObject({ code: 0 });
  // The next process removes the row of the killed one.
  expect(await count()).toBe(1);
  await using last = await startServe(folder.path, [], { env });
  expect(await count()).toBe(1);
  await last.stop();
  expect(await count()).toBe(0);
  await database.giveBack();
});

test("what a process that nobody sees has begun is not left behind by a migration", async () => {
  const database = await takeDatabase();
  await using folder = await createFolder();
  await using other = await createFolder();
  const env = { WAYPOST_DATABASE_URL: database.url };
  await (await startServe(folder.path, [], { env })).stop();
  const paused = await database.open();
  const [isBegun, goesOn] = [createGate(), createGate()];
  const writing = paused.write(async (db) => {
    await sql`update projects set name = 'Late'`.execute(db);
    isBegun.open();
    await goesOn.opened;
  });
  await isBegun.opened;
  const words = ["migrate", "--to", `sqlite:${other.path}`, "--data", folder.path];
  const refused = await run(words, { env });
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("another process uses the data; stop every");
  expect(existsSync(other.path)).toBe(false);
  const going = begin(words, { env });
  const waiting = `select 1 from pg_locks where mode = 'ShareLock' and not granted
    and relation = 'projects'::regclass`;
  await waitUntil(async () => (await query(database.url, waiting)).length > 0);
  goesOn.open();
  await writing;
  await paused.close();
  expect(await going.finished).toMatchObject({ code: 0 });
  const copied = await runJson(["projects", "list", "--data", other.path]);
  expect(copied.projects).toMatchObject([{ name: "Late" }]);
  await database.giveBack();
});

test("a database that holds nothing is neither migrated nor backed up", async () => {
  const database = await takeDatabase();
  await using folder = await createFolder();
  const env = { WAYPOST_DATABASE_URL: await database.createOther() };
  const file = join(folder.path, "..", "nothing.waypost");
  for (const words of [
    ["migrate", "--to", "sqlite:x"],
    ["backup", file],
  ]) {
    const refused = await run([...words, "--data", folder.path], { env });
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toBe(
      "waypost: the database contains no Waypost data; check its address\n",
    );
  }
  expect(existsSync(file)).toBe(false);
  await database.giveBack();
});
