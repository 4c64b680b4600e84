import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { setClockAhead } from "../support/clock-ahead.ts";
import {
  begin,
  createFolder,
  runProcess as run,
  runJson,
  startServe,
  type Folder,
  type Running,
} from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";
import { plantShortPaths } from "../support/plant-short-paths.ts";
import { waitUntil } from "../support/wait-until.ts";

/** `waypost migrate`: everything into another folder, while nobody writes. */

let folder: Folder;

openForAll(createFolder, async (created) => {
  folder = created;
  await importLinks(folder.path, ["one", "two", "spring"]);
});

/** By processes that end: one that plants in the test's own may hold the file for a while. */
async function importLinks(data: string, paths: readonly string[]): Promise<void> {
  const input = `path,url\n${paths.map((path) => `${path},https://x.example/\n`).join("")}`;
  const made = await run(["import", "-", "--yes", "--data", data], { input });
  expect(made).toMatchObject({ code: 0 });
}

async function exportLinks(data: string): Promise<readonly unknown[]> {
  const { stdout } = await run(["export", "--format", "json", "--data", data]);
  return JSON.parse(stdout);
}

async function readTables(data: string, name: string): Promise<unknown> {
  return (await runJson(["backup", beside(name), "--data", data])).backup.tables;
}

const readKey = (data: string) => readFile(join(data, "owner.key"), "utf8");

const untilBegun = async (to: string, { finished }: Running) => {
  const log = join(to, "waypost.db-wal");
  let isOver = false;
  void finished.then(() => (isOver = true));
  await waitUntil(async () => isOver || (existsSync(log) && (await stat(log)).size > 500_000));
  expect(isOver).toBe(false);
};

const beside = (name: string) => join(dirname(folder.path), name);
const move = (to: string, ...words: readonly string[]) =>
  run(["migrate", "--to", to, "--data", folder.path, ...words]);

test("another folder has the same rows and key, and the old one is as it was", async () => {
  await using other = await createFolder();
  const to = `sqlite:${other.path}`;
  const { migrate } = await runJson(["migrate", "--to", to, "--data", folder.path]);
  expect(migrate.to).toBe(`sqlite:${other.path}`);
  const before = await readTables(folder.path, "before.waypost");
  expect(migrate.tables).toEqual(before);
  expect(await readTables(other.path, "after.waypost")).toEqual(before);
  expect(await readdir(other.path)).toEqual(["owner.key", "state.db", "waypost.db"]);
  expect(await readKey(other.path)).toBe(await readKey(folder.path));
  expect((await stat(join(other.path, "owner.key"))).mode & 0o777).toBe(0o600);
  expect(await exportLinks(other.path)).toEqual(await exportLinks(folder.path));
});

test("the waypost.db of a folder names the folder", async () => {
  await using other = await createFolder();
  const file = join(other.path, "waypost.db");
  const { code, stdout, stderr } = await move(`sqlite:${file}`);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/^IN +TABLE +ROWS +DIGEST\n(?:\w+ +\w+ +\d+ +[0-9a-f]{16}\n)+$/);
  expect(stderr).toContain(`Start with --data "${other.path}" from now on.`);
  expect(await exportLinks(other.path)).toHaveLength(3);
});

test("a store that a process has open stays where it is", async () => {
  await using other = await createFolder();
  await using serving = await startServe(folder.path);
  const refused = await move(`sqlite:${other.path}`);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("another process uses the data; stop every waypost");
  expect(existsSync(other.path)).toBe(false);
  await serving.stop();
  expect(await move(`sqlite:${other.path}`)).toMatchObject({ code: 0 });
});

describe("a target that is not empty is left as it is", () => {
  test("itself", async () => {
    const before = await exportLinks(folder.path);
    const refused = await move(`sqlite:${folder.path}`);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(/already contains Waypost data|is not empty/);
    expect(await exportLinks(folder.path)).toEqual(before);
  });

  test("another store, and a folder of somebody else", async () => {
    await using other = await createFolder();
    await importLinks(other.path, ["mine"]);
    const refused = await move(`sqlite:${other.path}`);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain('it contains "owner.key"');
    expect(await exportLinks(other.path)).toMatchObject([{ path: "mine" }]);
    await using foreign = await createFolder();
    await mkdir(foreign.path, { mode: 0o700 });
    await writeFile(join(foreign.path, "waypost.db"), "notes");
    const unknown = await move(`sqlite:${foreign.path}`);
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toContain("is not a Waypost database");
    expect(await readFile(join(foreign.path, "waypost.db"), "utf8")).toBe("notes");
  });
});

test.each([
  [[], "use migrate --to sqlite:FOLDER"],
  [["--to", "elsewhere"], "use migrate --to sqlite:FOLDER"],
  [["--to", "sqlite:"], "use migrate --to sqlite:FOLDER"],
  [["--to", "sqlite:store.db"], "must be a data folder, or the waypost.db in it"],
  [["--to", "mysql://x/y"], "use migrate --to sqlite:FOLDER"],
  [["more", "--to", "sqlite:x"], 'migrate does not take "more"'],
])("migrate %j is refused in one line", async (words, message) => {
  const refused = await run(["migrate", ...words, "--data", folder.path]);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toMatch(/^waypost: [^\n]+\n$/);
  expect(refused.stderr).toContain(message);
});

describe("a store that takes a while", () => {
  let large: Folder;
  openForAll(createFolder, async (created) => {
    large = created;
    await importLinks(large.path, ["first"]);
    plantShortPaths(large.path, 60_000);
  });
  const start = (to: string) => begin(["migrate", "--to", `sqlite:${to}`, "--data", large.path]);
  test("killed in between, the same command does it", async () => {
    await using other = await createFolder();
    const going = start(other.path);
    await untilBegun(other.path, going);
    going.send("SIGKILL");
    await going.finished;
    const refused = await run(["keys", "list", "--data", other.path]);
    expect(refused.stderr).toContain("The database is incomplete");
    const again = ["migrate", "--to", `sqlite:${other.path}`, "--data", large.path];
    expect(await run(again, { env: setClockAhead(15_000) })).toMatchObject({ code: 0 });
    expect(await exportLinks(other.path)).toEqual(await exportLinks(large.path));
  });

  test("a write to the old store meanwhile is noticed, and nothing is left", async () => {
    await using other = await createFolder();
    const going = start(other.path);
    await untilBegun(other.path, going);
    expect(await run(["keys", "create", "--data", large.path])).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await going.finished;
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(
      "Nothing was copied: another process wrote to the old data during the copy",
    );
    expect(await start(other.path).finished).toMatchObject({ code: 0 });
  });
});
