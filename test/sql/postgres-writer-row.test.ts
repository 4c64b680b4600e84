import { sql } from "kysely";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { OutcomeUnknown } from "../../src/sql/faults.ts";
import { openPostgres } from "../../src/sql/postgres.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { query, takeDatabase, type TestDatabase } from "../support/postgres.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres-proxy.ts";
import { waitUntil } from "../support/wait-until.ts";

/** The rows by which a lost commit is looked up, and what becomes of them. */

type Tables = { readonly marks: { readonly id: string; readonly turn: number } };

let database: TestDatabase;
let proxy: PostgresProxy;
let store: Sql<Tables>;

beforeAll(async () => {
  database = await takeDatabase();
  proxy = await openPostgresProxy(database.url);
  store = await openPostgres<Tables>(proxy.url);
  await store.write((db) =>
    sql`create table marks (id text not null, turn bigint not null)`.execute(db),
  );
});

afterAll(async () => {
  await store.close();
  await proxy[Symbol.asyncDispose]();
  await query(database.url, "drop table marks");
  await database.giveBack();
});

const listWriters = async () => {
  const rows = await query(database.url, "select id from waypost_writers order by id");
  return rows.map(({ id }) => String(id));
};

const hour_ms = 60 * 60_000;

/** Of this process: the database's stays as it is. */
function setClock(by_ms: number): void {
  const { now } = Date;
  const spied = vi.spyOn(Date, "now").mockImplementation(() => now() + by_ms);
  onTestFinished(() => spied.mockRestore());
}

test.each([
  ["ahead of", 2 * hour_ms],
  ["behind", -2 * hour_ms],
])("a process %s the others takes away old rows, and no living one's", async (_, by_ms) => {
  await store.write((db) => sql`delete from marks`.execute(db));
  const living = await listWriters();
  const old = `insert into waypost_writers values ('old', 7,
    (extract(epoch from now()) * 1000)::bigint - ${hour_ms + 60_000})`;
  await query(database.url, old);
  setClock(by_ms);
  const other = await openPostgres<Tables>(database.url);
  await other.write((db) => sql`delete from marks`.execute(db));
  await other.close();
  const left = await listWriters();
  expect(left).not.toContain("old");
  expect(left).toEqual(expect.arrayContaining(living));
});

/** A write whose answer is lost, and its row with it before anybody can look. */
async function loseRow(id: string, beforeLook: () => void) {
  let turns = 0;
  proxy.cutAtCommit("answered");
  const written = store.write(async (db) => {
    turns += 1;
    await db.insertInto("marks").values({ id, turn: turns }).execute();
    // What is cut at the commit stays cut.
    setImmediate(() => proxy.refuse());
    beforeLook();
  });
  const fault = written.catch((error: unknown) => error);
  const find = () => query(database.url, `select turn from marks where id = '${id}'`);
  await waitUntil(async () => (await find()).length > 0);
  await query(database.url, "delete from waypost_writers");
  return { fault, find };
}

test("a lost commit is not called undone where the row that told of it is gone", async () => {
  const { fault, find } = await loseRow("at once", () => undefined);
  proxy.restore();
  const told = await fault;
  expect(told).toBeInstanceOf(OutcomeUnknown);
  expect(await (told as OutcomeUnknown).lookUp()).toBeUndefined();
  expect(await find()).toHaveLength(1);
  await store.write((db) => sql`delete from marks`.execute(db));
});

test("nor where it is looked for later", async () => {
  const begun = performance.now();
  let steps = 0;
  const { fault, find } = await loseRow("later", () => {
    const spied = vi.spyOn(performance, "now");
    spied.mockImplementation(() => begun + 3000 * (steps += 1));
    onTestFinished(() => spied.mockRestore());
  });
  const told = await fault;
  expect(told).toBeInstanceOf(OutcomeUnknown);
  proxy.restore();
  expect(await (told as OutcomeUnknown).lookUp()).toBeUndefined();
  expect(await find()).toHaveLength(1);
});
