import { sql, type Kysely } from "kysely";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Duplicate, StoreBusy } from "../../src/sql/faults.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { createGate } from "../support/clock.ts";
import { createCaller, staying } from "../support/rows.ts";
import { createPlace, type StorePlace } from "../support/store-place.ts";

/** Tests the guarantees that SQLite and PostgreSQL share. */

type Tables = { readonly things: { readonly id: string; readonly number: number } };

let place: StorePlace;
let store: Sql<Tables>;
/** The same tables, opened again as another process would. */
let other: Sql<Tables>;

// The type of the place has the store's tables, but this test has its own tables.
const open = async () => (await place.open()) as unknown as Sql<Tables>;

beforeEach(async () => {
  place = await createPlace();
  store = await open();
  await store.write(async (db) => {
    // Waypost recognizes its PostgreSQL database by a table with this name.
    await sql`create table if not exists waypost_migrations (name text primary key)`.execute(db);
    await sql`create table things (id text primary key, number bigint not null)`.execute(db);
  });
  other = await open();
});

afterEach(async () => {
  await other.close();
  await store.close();
  const last = await open();
  await last.write((db) => sql`drop table things`.execute(db));
  await last.close();
  await place[Symbol.asyncDispose]();
});

const add = (by: Sql<Tables>, id: string, number = 0) =>
  by.write((db) => db.insertInto("things").values({ id, number }).execute());
const list = async (db: Kysely<Tables>) =>
  (await db.selectFrom("things").select("id").orderBy("id").execute()).map(({ id }) => id);
const increase = (by: Sql<Tables>) =>
  by.write(async (db) => {
    const { number } = await db.selectFrom("things").selectAll().executeTakeFirstOrThrow();
    await db
      .updateTable("things")
      .set({ number: number + 1 })
      .execute();
  });
const once = { signal: staying, line: "one" };

describe("a write", () => {
  test("is not lost if two processes write concurrently", async () => {
    await add(store, "counter");
    const turns = Array.from({ length: 40 }, (_, turn) => increase(turn % 3 === 0 ? other : store));
    await Promise.all(turns);
    const things = store.db.selectFrom("things").selectAll();
    expect(await things.execute()).toEqual([{ id: "counter", number: 40 }]);
  });

  test("reports the columns of a violated unique key, and the next write succeeds", async () => {
    await add(store, "twin");
    const again = add(store, "twin");
    await expect(again).rejects.toBeInstanceOf(Duplicate);
    await expect(again).rejects.toMatchObject({ columns: ["things.id"] });
    await add(store, "after");
    expect(await list(store.db)).toEqual(["after", "twin"]);
  });

  test("changes nothing if it fails", async () => {
    const failing = store.write(async (db) => {
      await db.insertInto("things").values({ id: "half", number: 0 }).execute();
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await list(other.db)).toEqual([]);
  });

  test("is visible to readers only after it is committed", async () => {
    const [begun, over] = [createGate(), createGate()];
    const writing = store.write(async (db) => {
      await db.insertInto("things").values({ id: "new", number: 0 }).execute();
      begun.open();
      await over.opened;
    });
    await begun.opened;
    expect([await list(store.db), await list(other.db)]).toEqual([[], []]);
    over.open();
    await writing;
    expect([await list(store.db), await list(other.db)]).toEqual([["new"], ["new"]]);
  });

  test("changes the version number that other processes read", async () => {
    const seen = new Set([await store.readVersion()]);
    for (const id of ["one", "two"]) {
      await add(other, id);
      seen.add(await store.readVersion());
    }
    expect(seen.size).toBe(3);
  });
});

describe("a long read", () => {
  test("sees all commits that any process made earlier", async () => {
    await add(store, "own");
    await add(other, "foreign");
    expect(await store.readLong(list, once)).toEqual(["foreign", "own"]);
  });

  test("does not see writes made while it runs, but the next read does", async () => {
    const twice = async (db: Kysely<Tables>) => {
      const first = await list(db);
      await add(other, "meanwhile");
      await add(store, "own");
      return [first, await list(db), await list(store.db)];
    };
    expect(await store.readLong(twice, once)).toEqual([[], [], ["meanwhile", "own"]]);
    expect(await store.readLong(list, once)).toEqual(["meanwhile", "own"]);
  });

  test("cannot write to the database", async () => {
    const writing = store.readLong(
      (db) => db.insertInto("things").values({ id: "no", number: 0 }).execute(),
      once,
    );
    await expect(writing).rejects.toThrow(/read-?only/);
    expect(await list(store.db)).toEqual([]);
  });

  test("throws the original error if it fails, and the next read succeeds", async () => {
    const wrong = store.readLong((db) => sql`select * from nowhere`.execute(db), once);
    await expect(wrong).rejects.toThrow("nowhere");
    expect(await store.readLong(list, once)).toEqual([]);
  });

  test("is rejected if its caller disconnected before the read started", async () => {
    const { signal, leave } = createCaller();
    leave();
    const reading = store.readLong(list, { ...once, signal });
    await expect(reading).rejects.toBeInstanceOf(StoreBusy);
  });

  test("stops between two statements when its caller disconnects", async () => {
    const { signal, leave } = createCaller();
    let hasListedTwice = false;
    const leaveMidway = async (db: Kysely<Tables>) => {
      await list(db);
      leave();
      await list(db);
      hasListedTwice = true;
    };
    const reading = store.readLong(leaveMidway, { ...once, signal });
    await expect(reading).rejects.toBeInstanceOf(StoreBusy);
    await store.readLong(list, once);
    expect(hasListedTwice).toBe(false);
  });

  test("is rejected after the store is closed", async () => {
    await store.close();
    await expect(store.readLong(list, once)).rejects.toBeInstanceOf(StoreBusy);
    store = await open();
  });
});
