import { sql, type Kysely } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { StoreBusy } from "../../src/sql/faults.ts";
import { readEach } from "../../src/sql/open-kysely.ts";
import { openPostgres } from "../../src/sql/postgres.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { takeDatabase, type TestDatabase } from "../support/postgres.ts";
import { createCaller, staying } from "../support/rows.ts";

/** Long reads that take row after row, as they come from the server. */

type Tables = Readonly<Record<string, never>>;

let database: TestDatabase;
let store: Sql<Tables>;

beforeAll(async () => {
  database = await takeDatabase();
  store = await openPostgres<Tables>(database.url);
});

afterAll(async () => {
  await store.close();
  await database.giveBack();
});

type Row = { readonly n: number };

const count = (db: Kysely<Tables>, to: number) =>
  sql<Row>`select generate_series(1, ${to}::int) as n`.compile(db);

const take = (to: number, each: (row: Row) => void, signal = staying) =>
  store.readLong(async (db) => readEach(db, count(db, to), each), { signal, line: "one" });

const far = 50_000_000;

test("rows are taken as they come, and the last of them is waited for", async () => {
  const taken: number[] = [];
  await take(5000, ({ n }) => taken.push(n));
  expect(taken).toEqual(Array.from({ length: 5000 }, (_, place) => place + 1));
});

test("what is not long comes all at once", () => {
  expect(readEach(store.db, count(store.db, 1), () => undefined)).toBeUndefined();
});

test("a row that cannot be taken ends the read, and the next one is whole", async () => {
  let taken = 0;
  const fail = () => {
    taken += 1;
    if (taken === 10) throw new Error("ten are enough");
  };
  await expect(take(far, fail)).rejects.toThrow("ten are enough");
  expect(taken).toBe(10);
  await take(3, fail);
  expect(taken).toBe(13);
});

test("a read ends in the midst of its rows when its caller leaves", async () => {
  const { signal, leave } = createCaller();
  let taken = 0;
  const note = () => {
    taken += 1;
    if (taken === 10) leave();
  };
  await expect(take(far, note, signal)).rejects.toBeInstanceOf(StoreBusy);
  expect(taken).toBeLessThan(far);
});

test("what the server refuses is told as of any other read", async () => {
  const wrong = store.readLong(
    async (db) => readEach(db, sql<Row>`select n from nowhere`.compile(db), () => undefined),
    { signal: staying, line: "one" },
  );
  await expect(wrong).rejects.toThrow('relation "nowhere" does not exist');
});
