import { existsSync } from "node:fs";
import { sql } from "kysely";
import { Client } from "pg";
import { expect, test } from "vitest";
import { expectRefused, createFolder, run, runJson, startServe } from "../support/command.ts";
import { createGate } from "../support/clock.ts";
import { connectV2 } from "../support/mcp-clients.ts";
import { openPostgres } from "../../src/sql/postgres.ts";
import { createDatabase } from "../support/postgres.ts";

/** `waypost migrate` refuses a database that another process uses. */

/** A pooler keeps a process's connections open for a while. */
const testDirectly = test.skipIf(process.env["WAYPOST_TEST_POOLER"] !== undefined);

testDirectly("migrate refuses a database until an idle process has closed it", async () => {
  const url = await createDatabase();
  await using folder = await createFolder();
  await using other = await createFolder();
  const env = { WAYPOST_DATABASE_URL: url };
  const move = () =>
    run(["migrate", "--to", `sqlite:${other.path}`, "--data", folder.path], { env });
  await using serving = await startServe(folder.path, [], { env });
  const refused = await move();
  expectRefused(refused, "another process uses the data; stop every waypost process");
  expect(refused.stderr).toMatch(new RegExp(`\\(\\S+, process ${serving.pid}\\)\n$`));
  expect(existsSync(other.path)).toBe(false);
  await serving.stop();
  await using local = await connectV2({ transport: "stdio", data: folder.path, env });
  await local.callTool("list_links");
  expect((await move()).stderr).toContain(`process ${local.process?.pid})`);
  await local.close();

  await using killed = await startServe(folder.path, [], { env });
  await killed.stop("SIGKILL");
  const remote = new Client({ connectionString: url, application_name: "waypost 123 remote" });
  await remote.connect();
  expect((await move()).stderr).toContain("(remote, process 123)");
  await remote.end();
  expect(await move()).toMatchObject({ code: 0 });
});

test("migrate refuses a database while another process has an open transaction", async () => {
  const url = await createDatabase();
  await using folder = await createFolder();
  await using other = await createFolder();
  const env = { WAYPOST_DATABASE_URL: url };
  await (await startServe(folder.path, [], { env })).stop();
  const paused = await openPostgres<unknown>(`${url}?application_name=unseen`);
  const [isBegun, goesOn] = [createGate(), createGate()];
  const writing = paused.write(async (db) => {
    await sql`update projects set name = 'Late'`.execute(db);
    isBegun.open();
    await goesOn.opened;
  });
  await isBegun.opened;
  const words = ["migrate", "--to", `sqlite:${other.path}`, "--data", folder.path];
  expectRefused(await run(words, { env }), "another transaction has locked a table or row");
  expect(existsSync(other.path)).toBe(false);
  goesOn.open();
  await writing;
  await paused.close();
  expect(await run(words, { env })).toMatchObject({ code: 0 });
  const copied = await runJson(["projects", "list", "--data", other.path]);
  expect(copied.projects).toMatchObject([{ name: "Late" }]);
});

test("migrate refuses a database that contains no Waypost data", async () => {
  await using folder = await createFolder();
  const env = { WAYPOST_DATABASE_URL: await createDatabase() };
  const refused = await run(["migrate", "--to", "sqlite:x", "--data", folder.path], { env });
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toBe(
    "waypost: the database contains no Waypost data; check its address\n",
  );
});
