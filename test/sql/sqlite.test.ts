import { createHash, randomBytes } from "node:crypto";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import { StoreUnusable } from "../../src/sql/faults.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { openStore, StoreBusy, type Store } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { neverRing, waitUntil } from "../support/clock.ts";
import { createEmptyFolder } from "../support/folders.ts";
import { openForEach } from "../support/open-for.ts";
import { addLink, addProject, createCaller } from "../support/rows.ts";
import { createWorld } from "../support/world.ts";

/** Tests opening a SQLite file, and rejecting a file that cannot be used. */

const applicationId = 0x57415950;

let folder: string;
let path: string;

openForEach(createEmptyFolder, (opened) => {
  folder = opened.path;
  path = join(folder, "waypost.db");
});

type Case = readonly [what: string, message: string, prepare: () => void | Promise<void>];

describe("an unusable SQLite file", () => {
  const foreign = "is not a Waypost database. It was not changed";
  const damaged = "is damaged";

  test.each<Case>([
    ["a text file", foreign, () => writeFileSync(path, "Dear diary,\n".repeat(500))],
    ["a short text file", foreign, () => writeFileSync(path, "hello")],
    ["random bytes", foreign, () => writeFileSync(path, randomBytes(20_000))],
    ["a bare SQLite signature", foreign, () => writeFileSync(path, "SQLite format 3\0")],
    ["another program's SQLite file", foreign, () => makeForeign("create table diary (day text)")],
    [
      "another program's empty SQLite file",
      foreign,
      () => makeForeign("pragma application_id = 7"),
    ],
    ["another program's file while it is open", foreign, makeForeignWithLog],
    ["a file cut off after its first page", damaged, () => cut(4096)],
    ["a file cut off inside a page", damaged, () => cut(20_000)],
    ["a file whose schema was overwritten", damaged, () => overwrite(100, 3996)],
    ["a file whose tables were overwritten", damaged, () => overwrite(4096, 1_000_000)],
    ["a file with an overwritten page", damaged, () => overwrite(40_960, 4096)],
    ["a file whose header was overwritten", damaged, () => overwrite(16, 52)],
    [
      "a file written by a newer Waypost version",
      "because another version wrote it",
      () => makeOurs(sql`insert into waypost_migrations values ('999-later')`),
    ],
    [
      "a file that lists none of its migrations",
      "because another version wrote it",
      () => makeOurs(sql`delete from waypost_migrations`),
    ],
  ])("is refused with a clear message and left unchanged: %s", async (_, message, prepare) => {
    await prepare();
    const before = readFiles();
    const opening = open();
    await expect(opening).rejects.toBeInstanceOf(StoreUnusable);
    await expect(opening).rejects.toThrow(message);
    const after = readFiles();
    for (const [name, digest] of before) expect([name, after.get(name)]).toEqual([name, digest]);
  });
});

test("a damaged page of a large file is detected when all pages are checked", async () => {
  await makeOurs(sql`
    create table many as
    with recursive rows (number) as (select 1 union all select number + 1 from rows limit 20000)
    select number, hex(zeroblob(500)) as filling from rows
  `);
  expect(statSync(path).size).toBeGreaterThan(16 * 1024 * 1024);
  const checkAll = () => openSqlite<Tables>(path, { applicationId, checksAll: true });
  await (await checkAll()).close();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xa5, 4096 * 2000, 4096 * 2001));
  // Start-up does not check all pages, because that would take too long.
  await (await open()).close();
  await expect(checkAll()).rejects.toThrow("is damaged");
});

describe("a SQLite file", () => {
  test("contains all data after the store is closed, even if its log is missing", async () => {
    await using store = await openStored();
    const id = await addProject(store);
    await store.close();
    const copy = mkdtempSync(join(folder, "copy-"));
    cpSync(path, join(copy, "waypost.db"));
    path = join(copy, "waypost.db");
    await using restored = await openStored();
    expect(await restored.db.selectFrom("projects").select("id").execute()).toEqual([{ id }]);
  });

  test("is private to its owner, like its log, and has Waypost's application ID", async () => {
    await using store = await openStored();
    await addProject(store);
    for (const name of readdirSync(folder)) {
      expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
    expect(readdirSync(folder).toSorted()).toEqual(
      ["", "-shm", "-wal"].map((end) => `waypost.db${end}`),
    );
    await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
    expect(readFileSync(path).toString("latin1", 68, 72)).toBe("WAYP");
  });

  test("is opened in WAL mode by both readers and the writer", async () => {
    await using store = await openStored();
    // durability.test.ts shows that each commit is synced before its response.
    expect(await readPragmas(store.db)).toEqual(["wal", 1, 0, 1]);
    expect(await store.write(readPragmas)).toEqual(["wal", 1, 0, 1]);
  });

  test("keeps its log next to the real file when opened through a symbolic link", async () => {
    const origin = join(folder, "origin.db");
    await (await openStored()).close();
    renameSync(path, origin);
    symlinkSync(origin, path);
    await using store = await openStored();
    const id = await addProject(store);
    expect(await store.db.selectFrom("projects").select("id").execute()).toEqual([{ id }]);
    expect(readdirSync(folder)).toContain("origin.db-wal");
  });

  test("is updated from its log after 50 commits", async () => {
    await using store = await openStored();
    const id = await addProject(store);
    for (let commit = 0; commit < 50; commit += 1) {
      await store.write((db) => sql`update projects set name = name`.execute(db));
    }
    await waitUntil(() => readAlone(`select id from projects where id = '${id}'`).length === 1);
  });

  test("can be opened for the first time by five connections concurrently", async () => {
    const stores = await Promise.all([1, 2, 3, 4, 5].map(() => open()));
    const [first, ...others] = stores;
    const id = first && (await addProject(first));
    for (const { db } of others) {
      expect(await db.selectFrom("projects").select("id").execute()).toEqual([{ id }]);
    }
    for (const store of stores) await store.close();
  });

  test("recovers committed data from its log after a crash", async () => {
    await using store = await openStored();
    const id = await addProject(store);
    const copy = mkdtempSync(join(folder, "copy-"));
    for (const end of ["", "-wal"]) cpSync(path + end, join(copy, `waypost.db${end}`));
    path = join(copy, "waypost.db");
    await using recovered = await openStored();
    expect(await recovered.db.selectFrom("projects").select("id").execute()).toEqual([{ id }]);
  });
});

describe("a SQLite file that another process locks", () => {
  test("opening the file waits and does not report damage", async () => {
    const other = openDatabase(path);
    other.exec("BEGIN EXCLUSIVE");
    const release = async () => {
      for (let turn = 0; turn < 20; turn += 1) await setImmediate();
      other.exec("COMMIT");
      other.close();
    };
    const [store] = await Promise.all([open(), release()]);
    expect(await addProject(store)).toBeDefined();
    await store.close();
  });

  test("reads succeed, and a write waits for the lock", async () => {
    await using store = await openStored();
    const projectId = await addProject(store);
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    let isWritten = false;
    const writing = store
      .write((db) => addLink({ db, projectId }, "later"))
      .then(() => (isWritten = true));
    for (let turn = 0; turn < 20; turn += 1) {
      await setImmediate();
      expect(await store.db.selectFrom("links").select("id").execute()).toEqual([]);
    }
    expect(isWritten).toBe(false);
    other.exec("COMMIT");
    other.close();
    await writing;
    expect(await store.db.selectFrom("links").select("path").execute()).toEqual([
      { path: "later" },
    ]);
  });

  test("a write whose caller disconnects fails with StoreBusy", async () => {
    await using store = await openStored();
    const projectId = await addProject(store);
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    const { signal, leave } = createCaller();
    const writing = store.write((db) => addLink({ db, projectId }, "never"), { signal });
    await setImmediate();
    leave();
    await expect(writing).rejects.toBeInstanceOf(StoreBusy);
    other.exec("COMMIT");
    other.close();
    await store.write((db) => addLink({ db, projectId }, "next"));
    expect(await store.db.selectFrom("links").select("path").execute()).toEqual([{ path: "next" }]);
  });
});

test("writes on a full disk fail with a clear error, and reads still work", async () => {
  await using world = await createWorld();
  const limitPages = (pages: string) =>
    world.store.write((db) => sql.raw(`pragma max_page_count = ${pages}`).execute(db));
  await limitPages("1");
  const refusals = new Set<string>();
  let links = 0;
  for (let turn = 0; turn < 40; turn += 1) {
    const body = { path: `link-${turn}`, social_description: "x".repeat(3000) };
    const reply = await world.call("POST", "/links", { body });
    if (reply.status === 201) links += 1;
    else refusals.add(`${reply.status} ${reply.body.error}`);
  }
  expect(new Set(world.reported.map(String))).toEqual(new Set());
  expect([...refusals]).toEqual(["500 The database's disk is full, so nothing was written."]);
  expect((await world.call("GET", "/links")).body.meta.count).toBe(links);
  await limitPages("1000000");
  expect((await world.call("POST", "/links", { body: { path: "more" } })).status).toBe(201);
  expect((await world.call("GET", "/links")).body.meta.count).toBe(links + 1);
});

async function open(): Promise<Store> {
  return openStore(await openSqlite<Tables>(path, { applicationId }), neverRing);
}

async function openStored(): Promise<Store & AsyncDisposable> {
  const store = await open();
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

async function readPragmas(db: Store["db"]): Promise<readonly unknown[]> {
  const names = ["journal_mode", "synchronous", "busy_timeout", "foreign_keys"];
  const answers = names.map((name) => sql.raw(`pragma ${name}`).execute(db));
  return (await Promise.all(answers)).map(({ rows }) => Object.values(rows[0] ?? {})[0]);
}

/** Reads rows from the file without its log. */
function readAlone(query: string): readonly unknown[] {
  const copy = join(mkdtempSync(join(folder, "alone-")), "waypost.db");
  cpSync(path, copy);
  const database = openDatabase(copy);
  try {
    return database.prepare(query).all();
  } catch {
    return [];
  } finally {
    database.close();
  }
}

/** Returns digests of the files. SQLite's index of the log is left out, because it may change. */
function readFiles(): ReadonlyMap<string, string> {
  const names = readdirSync(folder).filter(
    (name) => name.startsWith("waypost.db") && !name.endsWith("-shm"),
  );
  const digest = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
  return new Map(names.map((name) => [name, digest(name)]));
}

function makeForeign(statement: string): void {
  const database = openDatabase(path);
  database.exec(statement);
  database.close();
}

/** Creates an open file, whose last writes are only in the log. */
function makeForeignWithLog(): void {
  const origin = join(folder, "diary.db");
  const database = openDatabase(origin);
  database.exec("pragma journal_mode = wal; create table diary (day text)");
  cpSync(origin, path);
  cpSync(`${origin}-wal`, `${path}-wal`);
  database.close();
  rmSync(origin);
}

/** Creates a complete Waypost file without a log, like a backup. */
async function makeOurs(statement = sql`select 1`): Promise<void> {
  const wanted = path;
  path = join(mkdtempSync(join(folder, "origin-")), "waypost.db");
  await using store = await openStored();
  const projectId = await addProject(store);
  await store.write((db) => addLink({ db, projectId }, "kept"));
  await store.write((db) => statement.execute(db));
  await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
  cpSync(path, wanted);
  path = wanted;
}

async function cut(size: number): Promise<void> {
  await makeOurs();
  truncateSync(path, size);
}

async function overwrite(start: number, length: number): Promise<void> {
  await makeOurs();
  const bytes = readFileSync(path);
  bytes.fill(0xa5, start, Math.min(start + length, bytes.length));
  writeFileSync(path, bytes);
}
