import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import {
  expectRefused,
  begin,
  createFolder,
  createServed,
  run,
  runJson,
  startServe,
  startServes,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";
import { plantEmbedded } from "./plant-embedded.ts";
import { readFolder } from "./read-all-rows.ts";
import { waitUntil } from "../support/clock.ts";

/** `waypost backup` writes all data of a folder to one file, while other processes write. */

let folder: Folder;
let serving: Serving;

openForAll(createServed, (served) => ({ folder, serving } = served));

const beside = (name: string) => join(dirname(folder.path), name);
const backUp = (file: string, ...words: readonly string[]) =>
  run(["backup", file, "--data", folder.path, ...words]);

const hostile = ['say "hi"\n', "日本語 🎉 é", "\u001b[31m\u202e\u2028\u2029", "", "'; drop--"];

const listLinks = async ({ call }: Serving) => (await call("GET", "/links?limit=100")).body;
const listJobs = async (data: string) => (await runJson(["jobs", "--data", data])).jobs;

test("a restored data folder contains the same rows, secrets and key as the original", async () => {
  const app = { ios_app: { bundle_id: "com.shop", team_id: "TEAM000001" } };
  expect((await serving.call("POST", "/ios_apps", { body: app })).status).toBe(201);
  for (const [index, name] of hostile.entries()) {
    const reply = await serving.call("POST", "/links", { body: { name, path: `p${index}` } });
    expect(reply.status).toBe(201);
  }
  const { body: gone } = await serving.call("POST", "/links", { body: { path: "gone" } });
  await serving.call("DELETE", `/links/${gone.id}`);
  const template = { body: "<h1>{{ link.name }}</h1>{% store_buttons %}" };
  expect((await serving.call("PATCH", "/page_template", { body: template })).status).toBe(201);
  const rows = join(dirname(folder.path), "rows.csv");
  await writeFile(rows, "path,url\nspring,https://x.example/\nsummer,https://y.example/\n");
  expect(await run(["import", rows, "--yes", "--data", folder.path])).toMatchObject({ code: 0 });

  const file = beside("all.waypost");
  const { backup } = await runJson(["backup", file, "--data", folder.path]);
  const { size } = await stat(file);
  const files = ["state.db", "waypost.db", "owner.key"];
  expect(backup).toEqual({ file, bytes: size, made_at: expect.any(String), files });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(dirname(file))).toEqual(["all.waypost", "data", "rows.csv"]);
  // A backup is a normal tar file.
  const { stdout } = spawnSync("tar", ["tzf", file], { encoding: "utf8" });
  expect(stdout.trim().split("\n")).toEqual(files);

  await using other = await createFolder();
  const { restore } = await runJson(["restore", file, "--data", other.path]);
  expect(restore).toEqual({ data: other.path, made_at: expect.any(String), files });
  expect((await readdir(other.path)).toSorted()).toEqual(files.toSorted());
  const restored = await readFolder(other.path);
  // The server may have sent the notices of the import in the meantime.
  const original = await readFolder(folder.path);
  expect({ ...restored, kept_values: [] }).toEqual({ ...original, kept_values: [] });
  for (const table of ["projects", "links", "bin", "jobs", "plan_rows", "changes", "ios_apps"]) {
    expect(restored[table]).not.toEqual([]);
  }
  for (const name of files) {
    expect((await stat(join(other.path, name))).mode & 0o777).toBe(0o600);
  }
  expect((await stat(other.path)).mode & 0o777).toBe(0o700);
  await using second = await startServe(other.path);
  expect(second.key).toBe(serving.key);
  expect(await listLinks(second)).toEqual(await listLinks(serving));
  expect(await listJobs(other.path)).toEqual(await listJobs(folder.path));
});

test("a backup made while two processes write contains only complete transactions", async () => {
  await using busy = await createFolder();
  const servings = await startServes(busy.path, 2);
  const acknowledged = new Set<string>();
  let asked = 0;
  let isOver = false;
  const write = async (to: Serving): Promise<void> => {
    while (!isOver) {
      const path = `link-${(asked += 1)}`;
      const reply = await to.call("POST", "/links", { body: { path } });
      if (reply.status === 201) acknowledged.add(path);
    }
  };
  const writing = [...servings, ...servings].map(write);
  await waitUntil(() => acknowledged.size >= 40);
  const before = new Set(acknowledged);
  const file = beside("busy.waypost");
  expect(await run(["backup", file, "--data", busy.path])).toMatchObject({ code: 0 });
  isOver = true;
  await Promise.all(writing);
  for (const { stop } of servings) await stop();

  await using other = await createFolder();
  expect(await run(["restore", file, "--data", other.path])).toMatchObject({ code: 0 });
  const database = openDatabase(join(other.path, "waypost.db"));
  const read = (sql: string) => database.prepare(sql).all() as Readonly<Record<string, unknown>>[];
  const paths = new Set(read("select path from links").map(({ path }) => String(path)));
  expect([...before].filter((path) => !paths.has(path))).toEqual([]);
  // Each transaction is there completely.
  expect(read("select links from tallies")).toEqual([{ links: paths.size }]);
  expect(read("select count(*) as count from addresses")).toEqual([{ count: paths.size }]);
  database.close();
});

describe("waypost backup", () => {
  test.each([
    ["an existing file", async (path: string) => writeFile(path, "mine")],
    ["an existing folder", async (path: string) => mkdir(path)],
    ["a symbolic link to a file", async (path: string) => symlink("/etc/hostname", path)],
    ["a dangling symbolic link", async (path: string) => symlink("nowhere", path)],
  ])("refuses to overwrite %s", async (what, make) => {
    const path = beside(what.replaceAll(" ", "-"));
    await make(path);
    const refused = await backUp(path);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toBe(`waypost: "${path}" already exists. Choose a new name.\n`);
    if (what === "an existing file") expect(await readFile(path, "utf8")).toBe("mine");
    if (what === "a dangling symbolic link") expect(existsSync(beside("nowhere"))).toBe(false);
  });

  test("fails with an error if the backup's folder is missing or unwritable", async () => {
    expectRefused(await backUp(beside("none/b.waypost")), ": its folder does not exist");
    expectRefused(
      await backUp("/proc/b.waypost"),
      /cannot write to "[^"]+": its folder does not exist|permission/,
    );
  });

  test("refuses an empty data folder and data from another Waypost version", async () => {
    await using empty = await createFolder();
    const none = await run(["backup", beside("none.waypost"), "--data", empty.path]);
    expectRefused(none, "has no Waypost data");
    expect(existsSync(empty.path)).toBe(false);
    await plantEmbedded(empty.path, []);
    const database = openDatabase(join(empty.path, "waypost.db"));
    database.exec("insert into waypost_migrations (name) values ('999-later')");
    database.close();
    expectRefused(
      await run(["backup", beside("none.waypost"), "--data", empty.path]),
      "because another version wrote it",
    );
    expect(existsSync(beside("none.waypost"))).toBe(false);
  });

  test.each([[[]], [["one", "two"]]])("refuses the arguments %j", async (words) => {
    expectRefused(await run(["backup", ...words, "--data", folder.path]), "use backup FILE");
  });
});

describe("waypost backup with a large database", () => {
  let large: Folder;
  openForAll(createFolder, async (created) => {
    large = created;
    await plantEmbedded(large.path, [{ path: "first" }]);
    const database = openDatabase(join(large.path, "waypost.db"));
    // Digits that compress badly, so that the backup is larger than any buffer.
    database.exec(`
      insert into page_template_versions
      with recursive each(n) as (select 1 union all select n + 1 from each where n < 500)
      select id, hex(randomblob(16)), n, hex(randomblob(20000)), '', 0 from projects, each
    `);
    database.close();
  });
  const names = async () => readdir(dirname(large.path));
  const start = (under?: readonly string[]) =>
    begin(["backup", join(dirname(large.path), "b"), "--data", large.path], under && { under });
  const untilBegun = () =>
    waitUntil(async () => (await names()).some((name) => name.startsWith("b.")));

  test.each(["SIGKILL", "SIGTERM", "SIGINT"] as const)(
    "leaves no partial file after %s",
    async (signal) => {
      const going = start();
      await untilBegun();
      going.send(signal);
      const { code, stdout, stderr } = await going.finished;
      expect(stdout).toBe("");
      const left = (await names()).filter((name) => name !== "data");
      for (const name of left) await rm(join(dirname(large.path), name), { recursive: true });
      if (signal === "SIGKILL") {
        expect(left).not.toContain("b");
        expect(await start().finished).toMatchObject({ code: 0 });
        return rm(join(dirname(large.path), "b"));
      }
      expect(left).toEqual([]);
      expect({ code, stderr }).toEqual({
        code: 130,
        stderr: "waypost: stopped; no backup was written\n",
      });
    },
  );

  test("reports a full disk and leaves no backup file", async () => {
    const before = await names();
    // A limit on the file size fails like a full disk when the signal is ignored.
    const under = ["sh", "-c", `trap "" XFSZ; ulimit -f 4000; exec "$@"`, "sh"];
    const { code, stdout, stderr } = await start(under).finished;
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(
      /^waypost: Nothing was copied: [^\n]+: its disk reports errors; choose another disk\n$/,
    );
    expect(await names()).toEqual(before);
  });
});

test("a gateway's backup contains only its state database and HTTP token", async () => {
  await using gateway = await createFolder();
  const env = { WAYPOST_BASE_URL: serving.places.url, WAYPOST_API_KEY: serving.key };
  const front = await startServe(gateway.path, [], { env });
  await front.stop();
  await writeFile(join(gateway.path, "state.db"), "", { flag: "a", mode: 0o600 });
  const file = beside("gateway.waypost");
  const { backup } = await runJson(["backup", file, "--data", gateway.path]);
  expect(backup.files).toEqual(["state.db", "http.token"]);
  await using other = await createFolder();
  expect(await run(["restore", file, "--data", other.path])).toMatchObject({ code: 0 });
  expect((await readdir(other.path)).toSorted()).toEqual(["http.token", "state.db"]);
});

test("a backup omits visits not yet matched to an install, and failed sign-ins", async () => {
  await using own = await createFolder();
  expect(await run(["keys", "create", "--data", own.path])).toMatchObject({ code: 0 });
  expect(await run(["jobs", "--data", own.path])).toMatchObject({ code: 0 });
  const mark = "who-was-there";
  const plant = (name: string, statement: string) => {
    const database = openDatabase(join(own.path, name));
    database.exec(statement);
    database.close();
  };
  plant("waypost.db", `insert into store_secrets (name, value) values ('${mark}', '${mark}')`);
  plant("state.db", `insert into uses (kind, subject, at) values ('key', '${mark}', 1)`);
  const file = beside("private.waypost");
  expect(await run(["backup", file, "--data", own.path])).toMatchObject({ code: 0 });
  const tar = gunzipSync(await readFile(file));
  expect(tar.includes("SQLite format 3")).toBe(true);
  expect(tar.includes(mark)).toBe(false);
});
