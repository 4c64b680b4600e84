import { cp } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import {
  expectRefused,
  begin,
  createFolder,
  runProcess as run,
  startServe,
  type Folder,
} from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";
import { plantShortPaths } from "./plant-embedded.ts";
import { openPostgresProxy } from "../support/postgres-proxy.ts";
import { createDatabase, query, takeDatabase, takeEmptyDatabase } from "../support/postgres.ts";
import { readDatabase, readFolder } from "./read-all-rows.ts";
import { waitUntil } from "../support/clock.ts";

/** `waypost migrate` between a folder and a PostgreSQL database. */

let folder: Folder;
let file: string;

openForAll(createFolder, async (created) => {
  folder = created;
  file = beside("first.waypost");
  const links = hostile.map((name, index) => ({ path: `Ä/p-${index}`, name }));
  const input = JSON.stringify([...links, { path: "spring" }, { path: "summer" }]);
  const receiver = ["--url", "https://receiver.invalid/", "--data", folder.path];
  for (const words of [
    ["keys", "create", "--client", "--data", folder.path],
    ["webhooks", "create", ...receiver],
    ["import", "-", "--yes", "--data", folder.path],
    ["backup", file, "--data", folder.path],
  ]) {
    expect(await run(words, { input })).toMatchObject({ code: 0 });
  }
});

const hostile = ['say "hi"', "日本語 🎉 é", "'; drop table links--", "\u001b[31m\u202e"];
const beside = (name: string) => join(dirname(folder.path), name);

/** Creates a folder with the same data, which a migration may mark as moved. */
async function createSource(rows = 0): Promise<Folder> {
  const source = await createFolder();
  await cp(folder.path, source.path, { recursive: true });
  if (rows > 0) plantShortPaths(source.path, rows);
  return source;
}

const describe = (url: string) => {
  const { username, host, pathname } = new URL(url);
  return `postgres://${username}@${host}${pathname}`;
};

test("migrate copies a folder to PostgreSQL and back without changing any rows", async () => {
  const url = await createDatabase();
  await using source = await createSource();
  await using back = await createFolder();
  const env = { WAYPOST_DATABASE_URL: url };
  const before = await readFolder(folder.path);
  for (const table of ["client_keys", "webhooks", "deliveries", "links", "job_rows"]) {
    expect(before[table]).not.toEqual([]);
  }
  const to = ["migrate", "--to", url, "--data", source.path];
  const moved = await run([...to, "--json"]);
  expect(moved).toMatchObject({ code: 0 });
  expect(JSON.parse(moved.stdout).migrate.to).toBe(describe(url));
  expect(await readDatabase(url)).toEqual(before);
  expect((await run(["keys", "list", "--data", source.path])).stderr).toContain(
    `This data was moved to ${describe(url)} by`,
  );
  {
    await using serving = await startServe(source.path, [], { env });
    const listed = await serving.call("GET", "/links?limit=100");
    expect(listed.body.meta.count).toBe(6);
    expect((await serving.call("GET", "/links?q[path_start]=ä/p")).body.meta.count).toBe(4);
    await serving.stop();
  }
  const after = await readDatabase(url);
  const home = ["migrate", "--to", `sqlite:${back.path}`, "--data", source.path];
  expect(await run(home, { env })).toMatchObject({ code: 0 });
  expect(await readFolder(back.path)).toEqual(after);
  await using serving = await startServe(back.path);
  expect((await serving.call("GET", "/links?q[name_cont]=日本語")).body.meta.count).toBe(1);
});

test("writes to a migrated database fail with an error that shows the new location", async () => {
  const url = await createDatabase();
  await using target = await createFolder();
  const env = { WAYPOST_DATABASE_URL: url };
  await using own = await createFolder();
  expect(await run(["keys", "list", "--data", own.path], { env })).toMatchObject({ code: 0 });
  const to = `sqlite:${target.path}`;
  const words = ["migrate", "--to", to, "--data", own.path];
  expect(await run(words, { env })).toMatchObject({ code: 0 });
  // The writes of a process that was suspended during the migration.
  for (const statement of [
    "update projects set name = 'late'",
    "delete from links",
    "insert into secrets (name, value) values ('late', '')",
    "truncate changes",
  ]) {
    await expect(query(url, statement)).rejects.toThrow(`this data was moved to ${to}`);
  }
  expect(await query(url, "select name from projects")).toHaveLength(1);
  for (const command of [["serve", "--port", "0"], ["keys", "list"], words.slice(0, 3)]) {
    expectRefused(
      await run([...command, "--data", own.path], { env }),
      `This data was moved to ${to} by \`waypost migrate\``,
    );
  }
});

test("migrate refuses a target database that contains Waypost data", async () => {
  await using database = await takeDatabase();
  const url = new URL(database.url);
  url.password = "so-secret";
  await using source = await createSource();
  const env = { WAYPOST_DATABASE_URL: database.url };
  await using own = await createFolder();
  expect(await run(["keys", "list", "--data", own.path], { env })).toMatchObject({ code: 0 });
  const refused = await run(["migrate", "--to", url.href, "--data", source.path]);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toBe(
    `waypost: Nothing was copied: the database ${describe(database.url)} already contains ` +
      "Waypost data. Use an empty database.\n",
  );
  expect(await run(["keys", "list", "--data", source.path])).toMatchObject({ code: 0 });
});

test("backup and restore refuse a PostgreSQL database and suggest an alternative", async () => {
  const url = new URL((await takeEmptyDatabase()).url);
  url.password = "so-secret";
  const env = { WAYPOST_DATABASE_URL: url.href };
  await using own = await createFolder();
  const backup = await run(["backup", beside("no"), "--data", own.path], { env });
  expectRefused(backup, `the data is in the database ${describe(url.href)};`);
  expect(backup.stderr).toContain("use pg_dump, and copy owner.key");
  const restore = await run(["restore", file, "--data", own.path], { env });
  expectRefused(restore, /restore a database with pg_restore, or restore .* waypost migrate/);
  expect(backup.stderr + restore.stderr).not.toContain("so-secret");
});

test("a killed migration to PostgreSQL can be completed with the same command", async () => {
  const url = await createDatabase();
  await using large = await createSource(5_000);
  const before = await readFolder(large.path);
  const words = ["migrate", "--to", url, "--data", large.path];
  const going = begin(words);
  await waitUntil(async () => (await query(url, isFilling)).length > 0);
  going.send("SIGKILL");
  await going.finished;
  // The source is unchanged, and the target is empty.
  expect(await run(["keys", "list", "--data", large.path])).toMatchObject({ code: 0 });
  await waitUntil(async () => (await query(url, isFilling)).length === 0);
  expect(await query(url, "select 1 from pg_class where relname = 'links'")).toEqual([]);
  expect(await run(words)).toMatchObject({ code: 0 });
  expect(await readDatabase(url)).toEqual(before);
});

test("a migration that lost the response to COMMIT can be completed by a second run", async () => {
  const url = await createDatabase();
  await using proxy = await openPostgresProxy(url);
  await using source = await createSource();
  const before = await readFolder(source.path);
  const words = ["migrate", "--to", proxy.url, "--data", source.path];
  proxy.cutAtCommit("answered");
  expectRefused(await run(words), "may or may not be complete; run the same command again");
  expect(await run(words)).toMatchObject({ code: 0 });
  expect(await readDatabase(url)).toEqual(before);
  expect((await run(["keys", "list", "--data", source.path])).stderr).toContain("was moved to");
});

test("an interrupted migration is not completed if the source has changed", async () => {
  const url = await createDatabase();
  await using proxy = await openPostgresProxy(url);
  await using source = await createSource();
  const words = ["migrate", "--to", proxy.url, "--data", source.path];
  proxy.cutAtCommit("answered");
  expect(await run(words)).toMatchObject({ code: 2 });
  expect(await run(["keys", "create", "--data", source.path])).toMatchObject({ code: 0 });
  expect((await run(words)).stderr).toContain("already contains Waypost data");
  expect(await run(["keys", "list", "--data", source.path])).toMatchObject({ code: 0 });
});

/** Creates a source database that runs a statement when a migration commits its mark. */
async function createSourceThat(atCommit: string) {
  const url = await createDatabase();
  await using source = await createSource();
  const there = await run(["migrate", "--to", url, "--data", source.path]);
  expect(there).toMatchObject({ code: 0 });
  await query(
    url,
    `create function hold() returns trigger language plpgsql as
    $$ begin ${atCommit}; return null; end $$;
    create constraint trigger hold after insert on waypost_migrations
    deferrable initially deferred for each row execute function hold()`,
  );
  return { url, release: () => query(url, "drop function hold cascade") };
}

test("a migration killed before it marked the source as moved can be completed", async () => {
  const { url, release } = await createSourceThat("perform pg_sleep(600)");
  const env = { WAYPOST_DATABASE_URL: url };
  await using own = await createFolder();
  await using target = await createFolder();
  const words = ["migrate", "--to", `sqlite:${target.path}`, "--data", own.path];
  const going = begin(words, { env });
  await waitUntil(async () => (await query(url, isCommitting)).length > 0);
  going.send("SIGKILL");
  await going.finished;
  await query(url, `select pg_terminate_backend(pid) from (${isCommitting}) as waiting`);
  await waitUntil(async () => (await query(url, isCommitting)).length === 0);
  await release();
  const before = await readDatabase(url);
  expect(await readFolder(target.path)).toEqual(before);
  expect(await run(["keys", "list", "--data", own.path], { env })).toMatchObject({ code: 0 });
  expect(await run(words, { env })).toMatchObject({ code: 0 });
  expect(await readFolder(target.path)).toEqual(before);
  const refused = await run(["keys", "list", "--data", own.path], { env });
  expect(refused.stderr).toContain("was moved to");
});

const isCommitting = `select pid from pg_stat_activity
  where datname = current_database() and wait_event = 'PgSleep'`;

test("migrate reports that the source could not be marked as moved", async () => {
  const { url, release } = await createSourceThat("raise exception 'no' using errcode = '53100'");
  const env = { WAYPOST_DATABASE_URL: url };
  await using own = await createFolder();
  await using target = await createFolder();
  const to = `sqlite:${target.path}`;
  const words = ["migrate", "--to", to, "--data", own.path];
  expectRefused(
    await run(words, { env }),
    `everything was copied to ${to}, but the old data was not marked`,
  );
  await release();
  expect(await run(words, { env })).toMatchObject({ code: 0 });
});

test("killing a migration from PostgreSQL leaves the source database usable", async () => {
  const url = await createDatabase();
  await using large = await createSource(10_000);
  const env = { WAYPOST_DATABASE_URL: url };
  const there = await run(["migrate", "--to", url, "--data", large.path]);
  expect(there).toMatchObject({ code: 0 });
  await using target = await createFolder();
  const words = ["migrate", "--to", `sqlite:${target.path}`, "--data", large.path];
  const going = begin(words, { env });
  await waitUntil(async () => (await query(url, isLocked)).length > 0);
  going.send("SIGKILL");
  await going.finished;
  await waitUntil(async () => (await query(url, isLocked)).length === 0);
  await query(url, "update projects set name = 'Still used'");
  expect(await run(words, { env })).toMatchObject({ code: 0 });
  const listed = await run(["projects", "list", "--data", target.path]);
  expect(listed.stdout).toContain("Still used");
});

/** Matches while the transaction that fills a database is open. */
const isFilling = `select 1 from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`;
const isLocked = `select 1 from pg_locks
  where mode = 'ShareRowExclusiveLock' and relation = 'deliveries'::regclass`;

test("migrate explains what to do if the connection to PostgreSQL is lost", async () => {
  const url = await createDatabase();
  await using proxy = await openPostgresProxy(url);
  await using large = await createSource(5_000);
  const going = begin(["migrate", "--to", proxy.url, "--data", large.path]);
  await waitUntil(async () => (await query(url, isFilling)).length > 0);
  proxy.cut();
  const { code, stdout, stderr } = await going.finished;
  expect({ stderr, stdout }).toMatchObject({ stdout: "" });
  expect(code).toBeGreaterThan(0);
  expect(stderr).toMatch(/[Cc]heck that (it|PostgreSQL) is running|may or may not be complete/);
  expect(await run(["keys", "list", "--data", large.path])).toMatchObject({ code: 0 });
});
