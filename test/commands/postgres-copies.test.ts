import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { setClockAhead } from "../support/clock-ahead.ts";
import {
  begin,
  createFolder,
  runProcess as run,
  startServe,
  type Folder,
} from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";
import { plantShortPaths } from "../support/plant-short-paths.ts";
import { openPostgresProxy } from "../support/postgres-proxy.ts";
import { query, takeDatabase, takeEmptyDatabase } from "../support/postgres.ts";
import { waitUntil } from "../support/wait-until.ts";

/** Copies between engines: a folder, a database, and a file of either. */

let folder: Folder;

openForAll(createFolder, async (created) => {
  folder = created;
  const links = hostile.map((name, index) => ({ path: `Ä/p-${index}`, name }));
  const input = JSON.stringify([...links, { path: "spring" }, { path: "summer" }]);
  const receiver = ["--url", "https://receiver.invalid/", "--data", folder.path];
  for (const words of [
    ["keys", "create", "--client", "--data", folder.path],
    ["webhooks", "create", ...receiver],
  ]) {
    expect(await run(words)).toMatchObject({ code: 0 });
  }
  const made = await run(["import", "-", "--yes", "--data", folder.path], { input });
  expect(made).toMatchObject({ code: 0 });
});

const hostile = ['say "hi"', "日本語 🎉 é", "'; drop table links--", "\u001b[31m\u202e"];
const beside = (name: string) => join(dirname(folder.path), name);

let backups = 0;
async function backUp(data: string, env = {}) {
  const file = beside(`${(backups += 1)}.waypost`);
  const made = await run(["backup", file, "--data", data, "--json"], { env });
  expect(made).toMatchObject({ code: 0 });
  return { file, tables: JSON.parse(made.stdout).backup.tables };
}

test("a store goes to PostgreSQL and back, row for row", async () => {
  const database = await takeEmptyDatabase();
  await using back = await createFolder();
  const env = { WAYPOST_DATABASE_URL: database.url };
  const before = await backUp(folder.path);
  const filled = before.tables.filter(({ rows }: { readonly rows: number }) => rows > 0);
  const names = filled.map(({ table }: { readonly table: string }) => table);
  expect(names).toEqual(expect.arrayContaining(["client_keys", "webhooks", "deliveries"]));
  const to = ["migrate", "--to", database.url, "--data", folder.path];
  const moved = await run([...to, "--json"]);
  expect(moved).toMatchObject({ code: 0 });
  expect(JSON.parse(moved.stdout).migrate.tables).toEqual(before.tables);
  {
    await using serving = await startServe(folder.path, [], { env });
    const listed = await serving.call("GET", "/links?limit=100");
    expect(listed.body.meta.count).toBe(6);
    expect((await serving.call("GET", "/links?q[path_start]=ä/p")).body.meta.count).toBe(4);
    await serving.stop();
  }
  const twice = await run(to);
  expect(twice).toMatchObject({ code: 2, stdout: "" });
  const { username, host, pathname } = new URL(database.url);
  const taken =
    `waypost: Nothing was copied: the database postgres://${username}@${host}${pathname} ` +
    "already contains Waypost data. Use an empty database.\n";
  expect(twice.stderr).toBe(taken);
  const full = new URL(database.url);
  full.password = "so-secret";
  await using empty = await createFolder();
  const backup = await backUp(folder.path);
  const restore = ["restore", backup.file, "--data", empty.path];
  const refused = await run(restore, { env: { WAYPOST_DATABASE_URL: full.href } });
  expect(refused).toMatchObject({ code: 2, stdout: "", stderr: taken });
  const file = await backUp(folder.path, env);
  // Whoever asked for the links has used the key, and serve has tried to tell the webhook.
  expect(file.tables.filter(isUnused)).toEqual(before.tables.filter(isUnused));
  const home = ["migrate", "--to", `sqlite:${back.path}`, "--data", folder.path];
  expect(await run(home, { env })).toMatchObject({ code: 0 });
  expect((await backUp(back.path)).tables).toEqual(file.tables);
  await using restored = await createFolder();
  expect(await run(["restore", file.file, "--data", restored.path])).toMatchObject({ code: 0 });
  expect((await backUp(restored.path)).tables).toEqual(file.tables);
  await database.giveBack();
});

const isUnused = ({ table }: { readonly table: string }) => !used.has(table);
const used = new Set(["api_keys", "notices", "webhooks", "deliveries", "tallies"]);

test("a backup of a folder is restored into a database, which tells no password", async () => {
  const database = await takeEmptyDatabase();
  await using other = await createFolder();
  const before = await backUp(folder.path);
  const named = new URL(database.url);
  named.password = "so-secret";
  const env = { WAYPOST_DATABASE_URL: named.href };
  const restored = await run(["restore", before.file, "--data", other.path], { env });
  expect(restored).toMatchObject({ code: 0 });
  expect(restored.stdout + restored.stderr).not.toContain("so-secret");
  const { username, host, pathname } = named;
  const said = new RegExp(
    `Restored \\d+ rows of .* to postgres://${username}@${host}${pathname}, and .* to "`,
  );
  expect(restored.stdout + restored.stderr).toMatch(said);
  expect((await backUp(other.path, env)).tables).toEqual(before.tables);
  await database.giveBack();
});

test("a migration to PostgreSQL that was killed is done by the same command", async () => {
  const database = await takeEmptyDatabase();
  await using large = await createFolder();
  const input = "path,url\nfirst,https://x.example/\n";
  const made = ["import", "-", "--yes", "--data", large.path];
  expect(await run(made, { input })).toMatchObject({ code: 0 });
  plantShortPaths(large.path, 20_000);
  const before = await backUp(large.path);
  const env = { WAYPOST_DATABASE_URL: database.url };
  const words = ["migrate", "--to", database.url, "--data", large.path];
  const going = begin(words);
  const isBegun = "select 1 from short_paths limit 1";
  await waitUntil(async () => (await query(database.url, isBegun).catch(() => [])).length > 0);
  going.send("SIGKILL");
  await going.finished;
  const refused = await run(["keys", "list", "--data", large.path], { env });
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain("The database is incomplete");
  const again = await run(words, { env: setClockAhead(15_000) });
  expect(again).toMatchObject({ code: 0 });
  expect((await backUp(large.path, env)).tables).toEqual(before.tables);
  await database.giveBack();
});

test("a migration whose way to PostgreSQL is cut says which, and what to do", async () => {
  const database = await takeDatabase();
  // Half of a copy is left there.
  const url = await database.createOther();
  await database.giveBack();
  await using proxy = await openPostgresProxy(url);
  await using large = await createFolder();
  const input = "path,url\nfirst,https://x.example/\n";
  const made = ["import", "-", "--yes", "--data", large.path];
  expect(await run(made, { input })).toMatchObject({ code: 0 });
  plantShortPaths(large.path, 20_000);
  const going = begin(["migrate", "--to", proxy.url, "--data", large.path]);
  const isBegun = "select 1 from short_paths limit 1";
  await waitUntil(async () => (await query(url, isBegun).catch(() => [])).length > 0);
  proxy.cut();
  const { code, stdout, stderr } = await going.finished;
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/Nothing was copied: |the copy may or may not be complete; /);
  expect(stderr).toMatch(/the same command (again: it starts over|reports how many seconds)/);
  if (stderr.includes("nothing")) expect(stderr).toContain(new URL(proxy.url).host);
});
