import { afterEach, beforeEach, expect, test } from "vitest";
import { OutcomeUnknown, StoreBusy } from "../../src/sql/faults.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { watchSql, type WatchedSql } from "../../src/sql/watch-sql.ts";
import { createFolder, type Folder } from "../support/command.ts";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

type Tables = { readonly things: { name: string } };
let folder: Folder;
let sql: WatchedSql<Tables>;

beforeEach(async () => {
  folder = await createFolder();
  mkdirSync(folder.path);
  sql = watchSql(await openSqlite<Tables>(join(folder.path, "things.db"), { applicationId: 1 }));
  await sql.write((db) => db.schema.createTable("things").addColumn("name", "text").execute());
});

afterEach(async () => {
  await sql.close();
  await folder[Symbol.asyncDispose]();
});

test("a database tells what it committed, what waits, and what was given up", async () => {
  const before = sql.measure().commits;
  const insert = () => sql.write((db) => db.insertInto("things").values({ name: "a" }).execute());
  const writing = [insert(), insert()];
  expect(sql.measure().waitingWrites).toBe(2);
  await Promise.all(writing);
  // They shared one.
  expect(sql.measure()).toMatchObject({ commits: before + 1, waitingWrites: 0, busy: 0 });
  const gone = { hasLeft: () => true, onAbort: () => undefined };
  await expect(sql.write(insert, { signal: gone })).rejects.toThrow(StoreBusy);
  const read = () => sql.db.selectFrom("things").selectAll().execute();
  await expect(sql.readLong(read, { signal: gone, line: "one" })).rejects.toThrow(StoreBusy);
  expect(sql.measure()).toMatchObject({ busy: 2, waitingReads: 0, pool: undefined });
});

test("another fault than a busy store is none, and nothing waits after it", async () => {
  await expect(sql.write(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(sql.measure()).toMatchObject({ busy: 0, waitingWrites: 0 });
});

test("what took long or was given up is noted, with the request that it was for", async () => {
  const noted: unknown[] = [];
  let now = 0;
  const watched = watchSql(
    sql,
    (facts, message) => noted.push({ ...facts, message }),
    () => now,
  );
  const signal = { hasLeft: () => false, requestId: "request-1", onAbort: () => undefined };
  const take = (milliseconds: number) => () => {
    now += milliseconds;
    return Promise.resolve();
  };
  await watched.write(take(999), { signal });
  expect(noted).toEqual([]);
  await watched.write(take(1000), { signal });
  await watched.readLong(take(2000), { signal, line: "one" });
  const away = new StoreBusy("no server", { outage: "away" });
  const held = new StoreBusy("writes are held", { outage: "held" });
  const locked = new StoreBusy("it is locked", { outage: "locked" });
  const lost = new OutcomeUnknown("the connection broke");
  for (const fault of [new StoreBusy("busy"), away, held, locked, lost]) {
    await expect(watched.write(() => Promise.reject(fault), { signal })).rejects.toThrow(fault);
  }
  const request = "request-1";
  expect(noted).toEqual([
    { request, ms: 1000, message: "write of the store: slow" },
    { request, ms: 2000, message: "read of the store: slow" },
    { request, ms: 0, message: "write of the store: given up, for it was busy" },
    { request, ms: 0, message: "write of the store: given up, for it could not be reached" },
    { request, ms: 0, message: "write of the store: given up, for writes are held" },
    { request, ms: 0, message: "write of the store: given up, for it is locked" },
    { request, ms: 0, message: "write of the store: nobody knows whether it was done" },
  ]);
});
