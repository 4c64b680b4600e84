import { sql } from "kysely";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgres } from "../../src/sql/postgres.ts";
import { query, takeDatabase, type TestDatabase } from "../support/postgres.ts";
import { staying } from "../support/rows.ts";
import { openTransactionPooler, type TransactionPooler } from "../support/postgres-proxy.ts";
import { waitUntil } from "../support/clock.ts";

/** Tests that Waypost leaves nothing in a session of a transaction pooler such as PgBouncer. */

let database: TestDatabase;
let pooler: TransactionPooler;

beforeAll(async () => {
  database = await takeDatabase();
  pooler = await openTransactionPooler(database.url, 2);
});

afterAll(async () => {
  await pooler[Symbol.asyncDispose]();
  await database.giveBack();
});

async function connect(): Promise<Client> {
  const client = new Client(pooler.url);
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

test("the pooler uses any free connection for a transaction, and never shares it", async () => {
  const clients = await Promise.all([1, 2, 3, 4].map(connect));
  const [one] = clients;
  const selectPid = "select pg_backend_pid() as pid";
  const readPid = async (client = one) => (await client?.query(selectPid))?.rows[0].pid;
  // The pooler skips a connection while it cleans it.
  const seen = new Set<unknown>();
  await waitUntil(async () => seen.add(await readPid()).size > 1);
  await one?.query("begin");
  const held = await readPid();
  const others = await Promise.all(clients.slice(1).map(readPid));
  expect(others).not.toContain(held);
  expect(await readPid()).toBe(held);
  await one?.query("commit");
  expect(pooler.countMostClients()).toBe(4);
  expect(pooler.left).toEqual([]);
  await Promise.all(clients.map((client) => client.end()));
});

test.each([
  ["set statement_timeout = 5000", "settings statement_timeout"],
  ["begin; set local statement_timeout = 5000; commit", undefined],
  ["prepare one as select 1", "statements one"],
  ["declare one cursor with hold for select 1", "cursors one"],
  ["listen changes", "listens to changes"],
  ["select pg_advisory_lock(1)", "locks 1"],
  ["select pg_advisory_xact_lock(1)", undefined],
  ["create temporary table left_behind (id int)", "tables left_behind"],
])('after "%s" the pooler reports: %s', async (text, reported) => {
  const before = pooler.left.length;
  const [client, other] = await Promise.all([connect(), connect()]);
  // The pooler checks the only other connection before it uses it again.
  await other.query("begin");
  await client.query(text);
  await client.query("select 1");
  expect(pooler.left.slice(before)).toEqual(reported === undefined ? [] : [reported]);
  await other.query("commit");
  await Promise.all([client.end(), other.end()]);
});

test("the pooler rejects a named statement and a setting in the connection string", async () => {
  const client = await connect();
  await expect(client.query({ name: "one", text: "select 1" })).rejects.toThrow("no names");
  expect(pooler.left.at(-1)).toBe("a named statement: select 1");
  const other = new Client({ connectionString: pooler.url, statement_timeout: 1 });
  await expect(other.connect()).rejects.toThrow("unsupported startup parameter");
});

test("a store behind the pooler leaves nothing in a session", async () => {
  const before = pooler.left.length;
  const store = await openPostgres<{ readonly notes: { readonly text: string } }>(pooler.url);
  const make = sql`create table notes (text text)`;
  await store.write((db) => make.execute(db));
  for (let turn = 0; turn < 4; turn += 1) {
    await store.write((db) => db.insertInto("notes").values({ text: "kept" }).execute());
    await Promise.all([1, 2, 3].map(() => store.db.selectFrom("notes").selectAll().execute()));
    const count = (db: typeof store.db) => db.selectFrom("notes").selectAll().execute();
    const rows = await store.readLong(count, { signal: staying, line: "one" });
    expect(rows).toHaveLength(turn + 1);
    await store.readVersion();
  }
  await store.close();
  await query(database.url, "drop table notes");
  expect(pooler.left.slice(before)).toEqual([]);
});
