import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  expectRefused,
  begin,
  createFolder,
  run,
  runProcess,
  runJson,
  startServe,
  type Folder,
} from "../support/command.ts";
import { openDatabase } from "../../src/sql/engine.ts";
import { openForAll } from "../support/open-for.ts";
import { plantShortPaths } from "./plant-embedded.ts";
import { readFolder } from "./read-all-rows.ts";
import { waitUntil } from "../support/clock.ts";

/** `waypost migrate` copies an unused data folder into another one. */

let folder: Folder;

openForAll(createFolder, async (created) => {
  folder = created;
  const input = "path,url\none,https://x.example/\ntwo,https://x.example/\n";
  const made = await runProcess(["import", "-", "--yes", "--data", folder.path], { input });
  expect(made).toMatchObject({ code: 0 });
});

let count = 0;
let source: string;
beforeEach(async () => {
  source = beside(`source-${(count += 1)}`);
  await copyFolder(source);
});

const copyFolder = (to: string) => cp(folder.path, to, { recursive: true });
const beside = (name: string) => join(dirname(folder.path), name);
const readKey = (data: string) => readFile(join(data, "owner.key"), "utf8");
const move = (to: string, ...words: readonly string[]) =>
  run(["migrate", "--to", to, "--data", source, ...words]);

test("migrate copies all rows and keys, and commands then refuse the source folder", async () => {
  await using other = await createFolder();
  const before = await readFolder(folder.path);
  const to = `sqlite:${other.path}`;
  const { migrate } = await runJson(["migrate", "--to", to, "--data", source]);
  expect(migrate.to).toBe(to);
  const rows = Object.entries(before).map(([table, all]) => ({ table, rows: all.length }));
  expect(migrate.tables).toEqual(rows);
  expect(await readdir(other.path)).toEqual(["owner.key", "state.db", "waypost.db"]);
  for (const name of await readdir(other.path)) {
    expect((await stat(join(other.path, name))).mode & 0o777).toBe(0o600);
  }
  expect(await readKey(other.path)).toBe(await readKey(source));
  const exported = await run(["export", "--format", "json", "--data", other.path]);
  expect(JSON.parse(exported.stdout)).toHaveLength(2);
  expect(await readFolder(other.path)).toMatchObject({ links: before["links"] });

  const commands = [
    ["serve", "--port", "0"],
    ["keys", "list"],
    ["backup", beside("moved.waypost")],
    ["migrate", "--to", "sqlite:x"],
  ];
  for (const words of commands) {
    const refused = await run([...words, "--data", source]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toBe(
      `waypost: This data was moved to ${to} by \`waypost migrate\`. Start Waypost with that ` +
        "place, or choose an empty folder or database.\n",
    );
  }
  const doctor = await run(["doctor", "--data", source]);
  expect(doctor.stdout).toContain(`FAULT store         This data was moved to ${to}`);
  expect(await readFolder(source)).toEqual(before);
});

test("migrate accepts the path of waypost.db instead of its folder", async () => {
  await using other = await createFolder();
  const { code, stdout, stderr } = await move(`sqlite:${join(other.path, "waypost.db")}`);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/^TABLE +ROWS\n(?:\w+ +\d+\n)+$/);
  expect(stderr).toContain(`Start with --data "${other.path}" from now on.`);
  expect(stderr).toContain("The old data is marked as moved");
});

test("migrate refuses a source folder that another process is using", async () => {
  await using other = await createFolder();
  await using serving = await startServe(source);
  expectRefused(
    await move(`sqlite:${other.path}`),
    "another process uses the data; stop every waypost",
  );
  expect(existsSync(other.path)).toBe(false);
  await serving.stop();
  expect(await move(`sqlite:${other.path}`)).toMatchObject({ code: 0 });
});

test("migrate copies the last writes of a killed process", async () => {
  await using other = await createFolder();
  await using serving = await startServe(source);
  const made = await serving.call("POST", "/links", { body: { path: "last" } });
  expect(made.status).toBe(201);
  await serving.stop("SIGKILL");
  expect(await move(`sqlite:${other.path}`)).toMatchObject({ code: 0 });
  const { stdout } = await run(["export", "--format", "json", "--data", other.path]);
  expect(stdout).toContain('"path":"last"');
});

test("a second run of migrate marks the source as moved if the first run was killed", async () => {
  await using other = await createFolder();
  const before = await readFolder(source);
  const to = `sqlite:${other.path}`;
  expect(await move(to)).toMatchObject({ code: 0 });
  // The state after the command was killed before it committed the mark.
  runSql(source, "waypost.db", "delete from waypost_migrations where name like 'moved to %'");
  runSql(source, "state.db", "delete from state_migrations where name like 'moved to %'");
  const copied = beside(`copied-${count}`);
  await copyFolder(copied);
  expectRefused(await run(["migrate", "--to", to, "--data", copied]), "is not empty");
  const copy = await readFile(join(other.path, "waypost.db"));
  runSql(other.path, "waypost.db", "delete from addresses");
  expectRefused(await move(to), /2 rows of the table addresses, but the copy now has 0/);
  await writeFile(join(other.path, "waypost.db"), copy);
  expect(await move(to)).toMatchObject({ code: 0 });
  expect(await readFolder(other.path)).toEqual(before);
  expect((await run(["keys", "list", "--data", source])).stderr).toContain("was moved to");
});

function runSql(data: string, name: string, statement: string): void {
  const database = openDatabase(join(data, name));
  database.exec(statement);
  database.close();
}

async function expectRefusal(to: string, name: string): Promise<void> {
  expectRefused(await move(`sqlite:${to}`), `"${to}" is not empty: it contains "${name}"`);
  expect(await run(["keys", "list", "--data", source])).toMatchObject({ code: 0 });
}

describe("a migration to a folder that is not empty", () => {
  test("is refused if the folder is the source", () => expectRefusal(source, "owner.key"));

  test("refuses a folder that contains other files and does not change them", async () => {
    await using foreign = await createFolder();
    await mkdir(foreign.path, { mode: 0o700 });
    await writeFile(join(foreign.path, "waypost.db"), "notes");
    await expectRefusal(foreign.path, "waypost.db");
    expect(await readFile(join(foreign.path, "waypost.db"), "utf8")).toBe("notes");
  });
});

test("migrate refuses a target that is not writable", async () => {
  expectRefused(await move("sqlite:/proc/none"), /the data folder \/proc\/none: /);
  expect(await run(["keys", "list", "--data", source])).toMatchObject({ code: 0 });
});

test.each([
  [[], "use migrate --to sqlite:FOLDER"],
  [["--to", "sqlite:"], "use migrate --to sqlite:FOLDER"],
  [["--to", "sqlite:store.db"], "must be a data folder, or the waypost.db in it"],
  [["--to", "mysql://x/y"], "use migrate --to sqlite:FOLDER"],
  [["more", "--to", "sqlite:x"], 'migrate does not take "more"'],
])("waypost migrate %j is refused with a one-line error", async (words, message) => {
  expectRefused(await run(["migrate", ...words, "--data", source]), message);
});

const start = (to: string) => begin(["migrate", "--to", `sqlite:${to}`, "--data", source]);
const untilBegun = async (to: string) =>
  waitUntil(() => existsSync(join(to, "incomplete", "waypost.db")));

describe("a migration of a large folder", () => {
  beforeEach(() => plantShortPaths(source, 60_000));

  test("can be completed with the same command after it was killed", async () => {
    await using other = await createFolder();
    const before = await readFolder(source);
    const going = start(other.path);
    await untilBegun(other.path);
    going.send("SIGKILL");
    await going.finished;
    const refused = await run(["keys", "list", "--data", other.path]);
    expect(refused.stderr).toContain("is incomplete: a restore or migration into it");
    // Until the migration is complete, the old folder can be used.
    expect(await runProcess(["keys", "list", "--data", source])).toMatchObject({ code: 0 });
    expect(await start(other.path).finished).toMatchObject({ code: 0 });
    expect(await readFolder(other.path)).toEqual(before);
    expect((await run(["keys", "list", "--data", source])).stderr).toContain("was moved to");
  });

  test("changes neither folder if it is interrupted with Ctrl-C", async () => {
    await using other = await createFolder();
    const going = start(other.path);
    await untilBegun(other.path);
    going.send("SIGINT");
    expect(await going.finished).toEqual({
      code: 130,
      stdout: "",
      stderr: "waypost: stopped; nothing was copied\n",
    });
    expect(existsSync(other.path)).toBe(false);
    expect(await run(["keys", "list", "--data", source])).toMatchObject({ code: 0 });
  });

  test("prevents other processes from opening the source folder while it runs", async () => {
    await using other = await createFolder();
    const going = start(other.path);
    await untilBegun(other.path);
    const late = await run(["keys", "create", "--data", source]);
    expect(late).toMatchObject({ stdout: "" });
    expect(late.stderr).toMatch(/is using the data folder|was moved to/);
    expect(await going.finished).toMatchObject({ code: 0 });
  });
});
