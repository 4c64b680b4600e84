import { afterEach, beforeEach, expect, test } from "vitest";
import { createShownProcess, type ShownProcess } from "../../src/compose/show-process.ts";
import { StoreBusy } from "../../src/sql/faults.ts";
import { guardWrites } from "../../src/sql/guard-writes.ts";
import { openPostgres } from "../../src/sql/postgres.ts";
import { leaveForgottenBehind, listProcesses, removeProcess } from "../../src/sql/processes.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { createGate } from "../support/gate.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres-proxy.ts";
import { query, takeDatabase, type TestDatabase } from "../support/postgres.ts";

/** Nobody writes to a database whom `waypost migrate` cannot see, however the way to it breaks. */

let database: TestDatabase;
let proxy: PostgresProxy;
let plain: Sql<unknown>;
let shown: ShownProcess;
let sql: Sql<unknown>;
let passed: { now: number; monotonic: number };
let warned: string[];

beforeEach(async () => {
  database = await takeDatabase();
  proxy = await openPostgresProxy(database.url);
  plain = await openPostgres(proxy.url);
  passed = { now: 0, monotonic: 0 };
  const now = Date.now();
  const clock = { now: () => now + passed.now, monotonic: () => passed.monotonic };
  warned = [];
  const warn = (_: object, message: string) => warned.push(message);
  shown = createShownProcess({ clock, setAlarm: () => nothing, warn, report: nothing });
  sql = guardWrites(plain, shown.requireSeen);
});

afterEach(async () => {
  proxy.restore();
  await shown.end();
  await plain.close();
  await proxy[Symbol.asyncDispose]();
  await query(database.url, "drop table if exists waypost_processes");
  await database.giveBack();
});

/** So its turns never come: what is shown is shown by whoever writes. */
const nothing = () => undefined;
const list = async () => (await listProcesses(plain.db)).map(({ pid }) => pid);
const write = () => sql.write(() => Promise.resolve("written"));
const forget = async () => {
  const rows = await query(database.url, "select id from waypost_processes");
  for (const { id } of rows) await removeProcess(plain.db, String(id));
};

test("before it has come so far, it writes and is not seen", async () => {
  expect(await write()).toBe("written");
  expect(await list()).toEqual([]);
});

test("one that could not be shown at its start is seen before it writes", async () => {
  proxy.cut();
  await shown.start(plain.db);
  await expect(write()).rejects.toBeInstanceOf(StoreBusy);
  proxy.restore();
  expect(await list()).toEqual([]);
  expect(await write()).toBe("written");
  expect(await list()).toEqual([process.pid]);
});

test("one that stood in line while it was forgotten is seen again before it writes", async () => {
  await shown.start(plain.db);
  const ahead = createGate();
  const first = sql.write(() => ahead.opened);
  const second = write();
  await forget();
  passed = { now: 20_000, monotonic: 20_000 };
  ahead.open();
  await Promise.all([first, second]);
  expect(await list()).toEqual([process.pid]);
});

test.each([
  ["could not show itself for long", { now: 20_000, monotonic: 20_000 }],
  ["woke up after a long sleep", { now: 20_000, monotonic: 0 }],
  ["had its clock set", { now: -20_000, monotonic: 1 }],
])("one that %s is seen again before it writes", async (_, later) => {
  await shown.start(plain.db);
  await forget();
  passed = { now: 9_999, monotonic: 19_999 };
  await write();
  expect(await list()).toEqual([]);
  passed = later;
  await Promise.all([write(), write()]);
  expect(await list()).toEqual([process.pid]);
});

test("one that stood still while its store was moved writes nothing any more", async () => {
  await shown.start(plain.db);
  await query(
    database.url,
    "update waypost_processes set seen_at = seen_at - interval '31 seconds'",
  );
  expect(await leaveForgottenBehind(plain.db)).toEqual([]);
  passed = { now: 31_000, monotonic: 31_000 };
  await expect(write()).rejects.toMatchObject({ name: "StoreBusy", outage: "away" });
  await expect(write()).rejects.toBeInstanceOf(StoreBusy);
  expect(warned).toEqual([expect.stringContaining("start it anew")]);
  expect(await list()).toEqual([]);
});

test("one that was seen lately is not left behind, and neither is who comes then", async () => {
  expect(await leaveForgottenBehind(plain.db)).toEqual([]);
  await shown.start(plain.db);
  expect(await leaveForgottenBehind(plain.db)).toMatchObject([{ pid: process.pid }]);
  passed = { now: 31_000, monotonic: 31_000 };
  expect(await write()).toBe("written");
  expect(warned).toEqual([]);
});
