import { setImmediate as waitForLoop } from "node:timers/promises";
import { sql, type Kysely } from "kysely";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  Duplicate,
  isFull,
  OutcomeUnknown,
  StoreBusy,
  StoreUnusable,
} from "../../src/sql/faults.ts";
import { holdWrites } from "../../src/sql/hold-writes.ts";
import { migrate } from "../../src/sql/migrate.ts";
import { openPostgres } from "../../src/sql/postgres.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { createGate } from "../support/gate.ts";
import { query, takeDatabase, type TestDatabase } from "../support/postgres.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres-proxy.ts";
import { createCaller, staying } from "../support/rows.ts";
import { waitUntil } from "../support/wait-until.ts";

/** What the engine for PostgreSQL promises, on a real server and a way to it that breaks. */

type Tables = { readonly things: { readonly id: string; readonly number: number } };

let database: TestDatabase;
let proxy: PostgresProxy;
let store: Sql<Tables>;
const opened: Sql<Tables>[] = [];

async function open(url: string): Promise<Sql<Tables>> {
  const one = await openPostgres<Tables>(url);
  opened.push(one);
  return one;
}

beforeAll(async () => {
  database = await takeDatabase();
  proxy = await openPostgresProxy(database.url);
  store = await open(proxy.url);
  await store.write((db) =>
    sql`create table things (id text primary key, number bigint not null)`.execute(db),
  );
});

afterEach(() => proxy.restore());

afterAll(async () => {
  for (const one of opened) await one.close();
  await proxy[Symbol.asyncDispose]();
  await query(database.url, "drop table things");
  await database.giveBack();
});

const add = (by: Sql<Tables>, id: string, number = 0) =>
  by.write((db) => db.insertInto("things").values({ id, number }).execute());
const read = async (by: Sql<Tables>, id: string) =>
  (await by.db.selectFrom("things").select("number").where("id", "=", id).execute())[0]?.number;
const increase = (by: Sql<Tables>, id: string) =>
  by.write(async (db) => {
    const found = db.selectFrom("things").select("number").where("id", "=", id);
    const { number } = await found.executeTakeFirstOrThrow();
    await db
      .updateTable("things")
      .set({ number: number + 1 })
      .where("id", "=", id)
      .execute();
  });

/** A statement that is under way while ten minutes pass here, by clocks that stand still else. */
async function takeLong<Db>(db: Kysely<Db>): Promise<void> {
  const sleeping = sql`select pg_sleep(0.3)`.execute(db);
  await waitForLoop();
  vi.advanceTimersByTime(10 * 60_000);
  await sleeping;
}

describe("a transaction", () => {
  test("that meets another process's is done again, and nothing is lost", async () => {
    const others = await Promise.all([1, 2, 3].map(() => open(database.url)));
    await add(store, "counter");
    const writers = [store, ...others];
    const turns = Array.from({ length: 40 }, (_, turn) =>
      increase(writers[turn % writers.length] ?? store, "counter"),
    );
    await Promise.all(turns);
    expect(await read(store, "counter")).toBe(40);
  });

  test("that breaks a unique key says which, and leaves the connection usable", async () => {
    await add(store, "twin");
    const again = add(store, "twin");
    await expect(again).rejects.toBeInstanceOf(Duplicate);
    await expect(again).rejects.toMatchObject({ columns: ["things.id"] });
    await add(store, "after the twin");
  });

  test("that PostgreSQL refuses for a full disk is reported as a full disk", async () => {
    const fill = sql`do $$ begin raise exception using errcode = 'disk_full'; end $$`;
    const failed = await store.write((db) => fill.execute(db)).catch((error: unknown) => error);
    expect(isFull(failed)).toBe(true);
  });

  test("whose work goes on after a statement that failed is not called done", async () => {
    const written = store.write(async (db) => {
      await sql`select 1 / 0`.execute(db).catch(() => undefined);
      return "done";
    });
    await expect(written).rejects.toThrow("a statement failed, and the write went on");
  });

  test("that another one locks out for five seconds is told that the store is busy", async () => {
    await add(store, "locked");
    const other = await open(database.url);
    const held = createGate();
    const isHeld = createGate();
    const holding = other.write(async (db) => {
      await db.updateTable("things").set({ number: 1 }).where("id", "=", "locked").execute();
      isHeld.open();
      await held.opened;
    });
    await isHeld.opened;
    await expect(increase(store, "locked")).rejects.toBeInstanceOf(StoreBusy);
    held.open();
    await holding;
    await increase(store, "locked");
    expect(await read(store, "locked")).toBe(2);
  });

  test("waits for no read, however many of them stand in line", async () => {
    const writer = await open(database.url);
    const holding = new Client(database.url);
    await holding.connect();
    await holding.query("begin; lock table things");
    const reads = Array.from({ length: 30 }, () => read(writer, "any"));
    await waitUntil(async () => (writer.measurePool?.().waiting ?? 0) > 0);
    await writer.write((db) => sql`select 1`.execute(db));
    expect(writer.measurePool?.().waiting).toBeGreaterThan(0);
    await holding.query("commit");
    await Promise.all(reads);
    await holding.end();
  });

  test("of a migration takes as long as it needs, and any other statement does not", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const settings = sql<{ longest: string; lock: string }>`
      select current_setting('statement_timeout') as longest,
        current_setting('lock_timeout') as lock
    `;
    const told: unknown[] = [];
    const up = async (db: Kysely<unknown>) => {
      await takeLong(db);
      told.push(...(await settings.execute(db)).rows);
    };
    await migrate(store, { table: "test_migrations", list: [{ name: "001-long", up }] });
    expect(told).toEqual([{ longest: "1h", lock: "1h" }]);
    await query(database.url, "drop table test_migrations");
    // It is said for that transaction alone.
    const [usual] = (await store.write((db) => settings.execute(db))).rows;
    expect(usual).toEqual({ longest: "10s", lock: "5s" });
    await expect(store.write((db) => takeLong(db))).rejects.toThrow();
  });

  test("a text with a NUL in it reaches no statement", async () => {
    await expect(add(store, "a\0b")).rejects.toThrow("a text with a NUL reached the database");
  });
});

describe("the answer to a commit that is lost", () => {
  test("is looked up, and the write that was done is called done, once", async () => {
    proxy.cutAtCommit("answered");
    let times = 0;
    const result = await store.write(async (db) => {
      times += 1;
      await db.insertInto("things").values({ id: "answered", number: times }).execute();
      return "done";
    });
    expect([result, times, await read(store, "answered")]).toEqual(["done", 1, 1]);
  });

  test("is looked up, and the write that was not done is done again", async () => {
    proxy.cutAtCommit("asked");
    let times = 0;
    await store.write(async (db) => {
      times += 1;
      await db.insertInto("things").values({ id: "asked", number: times }).execute();
    });
    expect([times, await read(store, "asked")]).toEqual([2, 2]);
  });

  test("of a process's very first write is looked up as well", async () => {
    for (const moment of ["asked", "answered"] as const) {
      const fresh = await open(proxy.url);
      proxy.cutAtCommit(moment);
      await add(fresh, `first ${moment}`, 7);
      expect(await read(fresh, `first ${moment}`)).toBe(7);
    }
  });

  test.each([
    ["answered", true],
    ["asked", false],
  ] as const)("and cannot be looked up is neither done nor failed: %s", async (moment, isDone) => {
    const id = `unknown ${moment}`;
    proxy.cutAtCommit(moment);
    const written = store.write(async (db) => {
      await db.insertInto("things").values({ id, number: 1 }).execute();
      // What is cut at the commit stays cut.
      setImmediate(() => proxy.refuse());
      hurry();
    });
    const fault = await written.catch((error: unknown) => error);
    if (!(fault instanceof OutcomeUnknown)) throw fault;
    await expect(fault.lookUp()).rejects.toThrow();
    await expect(add(store, `meanwhile ${moment}`)).rejects.toBeInstanceOf(StoreBusy);
    proxy.restore();
    // Those that come later write their own numbers where that of the first one was.
    await add(store, `later ${moment}`);
    await add(store, `last ${moment}`);
    expect(await fault.lookUp()).toBe(isDone);
    expect(await read(store, id)).toBe(isDone ? 1 : undefined);
  });

  test("is not guessed at where the row that told of it may have been taken away", async () => {
    proxy.cutAtCommit("answered");
    const written = store.write(async (db) => {
      await db.insertInto("things").values({ id: "unseen", number: 1 }).execute();
      setImmediate(() => proxy.refuse());
      hurry();
    });
    const fault = await written.catch((error: unknown) => error);
    proxy.restore();
    hurry(60 * 60_000);
    expect(await (fault as OutcomeUnknown).lookUp()).toBeUndefined();
  });
});

/** Whatever waits by this clock has soon waited for long. */
function hurry(step_ms = 3000): void {
  const begun = performance.now();
  let steps = 1;
  const spied = vi.spyOn(performance, "now").mockImplementation(() => begun + step_ms * steps++);
  onTestFinished(() => spied.mockRestore());
}

/** A write whose connection breaks between two statements, in its first `breaks` attempts. */
async function writeOverBreaks(id: string, breaks: number) {
  let times = 0;
  const written = store.write(async (db) => {
    times += 1;
    await db.insertInto("things").values({ id, number: times }).execute();
    if (times <= breaks) {
      proxy.cut();
      proxy.restore();
    }
    await db
      .insertInto("things")
      .values({ id: `${id} 2`, number: times })
      .execute();
  });
  const fault = await written.catch((error: unknown) => error);
  return { fault, times };
}

describe("a way that breaks", () => {
  test("is told as a busy store, and the next call goes by a new one", async () => {
    expect(await read(store, "none")).toBeUndefined();
    proxy.cut();
    const place = new RegExp(`^postgres://.*@${new URL(proxy.url).host}/.* cannot be reached`);
    await expect(read(store, "none")).rejects.toMatchObject({
      name: "StoreBusy",
      outage: "away",
      message: expect.stringMatching(place),
    });
    await expect(add(store, "none")).rejects.toBeInstanceOf(StoreBusy);
    await expect(store.readVersion()).rejects.toBeInstanceOf(StoreBusy);
    proxy.restore();
    expect(await read(store, "none")).toBeUndefined();
    await add(store, "after the cut");
    expect(await read(store, "after the cut")).toBe(0);
  });

  test("and is whole again at once is not noticed", async () => {
    await Promise.all([read(store, "none"), read(store, "none"), add(store, "before")]);
    proxy.cut();
    proxy.restore();
    expect(await Promise.all([read(store, "none"), read(store, "none")])).toEqual([
      undefined,
      undefined,
    ]);
    proxy.cut();
    proxy.restore();
    await add(store, "unnoticed");
  });

  test("a write whose connection breaks between two statements is repeated", async () => {
    const { fault, times } = await writeOverBreaks("broken once", 1);
    expect([fault, times]).toEqual([undefined, 2]);
    expect(await read(store, "broken once")).toBe(2);
    expect(await read(store, "broken once 2")).toBe(2);
  });

  test("a write whose connection breaks twice is taken back and not repeated again", async () => {
    const { fault, times } = await writeOverBreaks("broken twice", 2);
    expect(fault).toBeInstanceOf(StoreBusy);
    expect(times).toBe(2);
    expect(await read(store, "broken twice")).toBeUndefined();
  });

  test("in the midst of a write takes it back", async () => {
    const written = store.write(async (db) => {
      await db.insertInto("things").values({ id: "midst", number: 1 }).execute();
      proxy.cut();
      await db.insertInto("things").values({ id: "midst 2", number: 1 }).execute();
    });
    await expect(written).rejects.toBeInstanceOf(StoreBusy);
    proxy.restore();
    expect(await read(store, "midst")).toBeUndefined();
  });
});

test("the version is another one after any commit, in whatever order they end", async () => {
  const other = await open(database.url);
  const seen = new Set<number>();
  const look = async () => {
    const version = await store.readVersion();
    const isNew = !seen.has(version);
    seen.add(version);
    return isNew;
  };
  expect([await look(), await look()]).toEqual([true, false]);
  const held = createGate();
  const early = other.write(async (db) => {
    await db.insertInto("things").values({ id: "early", number: 1 }).execute();
    await held.opened;
  });
  await add(store, "late");
  expect([await look(), await look()]).toEqual([true, false]);
  held.open();
  await early;
  expect([await look(), await look()]).toEqual([true, false]);
  const failed = other.write(() => Promise.reject(new Error("no")));
  await expect(failed).rejects.toThrow("no");
  expect(await look()).toBe(false);
});

/** Whether somebody waits for that lock on the rows of those who write. */
async function isWaited(mode: string): Promise<boolean> {
  const text = `select 1 from pg_locks where mode = '${mode}' and not granted
    and relation = 'waypost_writers'::regclass`;
  return (await query(database.url, text)).length > 0;
}

describe("a long read", () => {
  test("that holds writes off comes after what had begun, and before what comes then", async () => {
    const other = await open(database.url);
    const [isBegun, goesOn] = [createGate(), createGate()];
    const [isRead, isOver] = [createGate(), createGate()];
    await add(store, "held");
    const early = store.write(async (db) => {
      await db.updateTable("things").set({ number: 1 }).where("id", "=", "held").execute();
      isBegun.open();
      await goesOn.opened;
    });
    await isBegun.opened;
    const reading = other.readLong(
      async (db) => {
        await holdWrites(db as Kysely<unknown>);
        const find = db.selectFrom("things").select("number").where("id", "=", "held");
        const seen = await find.executeTakeFirstOrThrow();
        isRead.open();
        await isOver.opened;
        return seen.number;
      },
      { signal: staying, line: "one" },
    );
    await waitUntil(() => isWaited("ShareLock"));
    goesOn.open();
    await Promise.all([early, isRead.opened]);
    let isLate = false;
    const late = increase(store, "held").then(() => (isLate = true));
    await waitUntil(() => isWaited("RowExclusiveLock"));
    expect(isLate).toBe(false);
    isOver.open();
    expect(await reading).toBe(1);
    await late;
    expect(await read(store, "held")).toBe(2);
  });

  test("sees the store as of one moment", async () => {
    await add(store, "moment", 1);
    const seen = await store.readLong(
      async (db) => {
        const find = db.selectFrom("things").select("number").where("id", "=", "moment");
        const before = await find.executeTakeFirstOrThrow();
        await increase(store, "moment");
        return [before, await find.executeTakeFirstOrThrow()].map(({ number }) => number);
      },
      { signal: staying, line: "one" },
    );
    expect(seen).toEqual([1, 1]);
  });

  test("ends on the server when its caller leaves", async () => {
    const { signal, leave } = createCaller();
    const begun = createGate();
    const long = store.readLong(
      async (db) => {
        begun.open();
        await sql`select pg_sleep(50)`.execute(db);
      },
      { signal, line: "one" },
    );
    const isOver = expect(long).rejects.toBeInstanceOf(StoreBusy);
    await begun.opened;
    const look =
      "select 1 from pg_stat_activity where state = 'active' and query = 'select pg_sleep(50)'";
    const hasSleeper = async () => (await query(database.url, look)).length > 0;
    await waitUntil(hasSleeper);
    leave();
    await isOver;
    await waitUntil(async () => !(await hasSleeper()));
  });
});

describe("a database is refused, and left as it is,", () => {
  test("where it contains tables of another program", async () => {
    const url = await database.createOther();
    await query(url, "create table migrations (name text)");
    const opening = openPostgres(url);
    await expect(opening).rejects.toBeInstanceOf(StoreUnusable);
    await expect(opening).rejects.toThrow("contains tables of another program");
  });

  test("where it is not there, without its password being told", async () => {
    const url = new URL(database.url);
    url.password = "hidden-word";
    url.pathname = "/nowhere";
    const told = await openPostgres(url.href).catch((error: unknown) => error);
    expect(told).toBeInstanceOf(StoreUnusable);
    expect(String(told)).toContain(`@${url.host}/nowhere cannot be opened`);
    expect(JSON.stringify(told) + String(told)).not.toContain("hidden-word");
  });
});
