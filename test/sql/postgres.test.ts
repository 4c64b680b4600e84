import { setImmediate as waitForLoop } from "node:timers/promises";
import { sql, type Kysely } from "kysely";
import { Client } from "pg";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { isFull, OutcomeUnknown, StoreBusy, StoreUnusable } from "../../src/sql/faults.ts";
import { migrate } from "../../src/sql/migrate.ts";
import { openPostgres } from "../../src/sql/postgres.ts";
import type { ReadSignal, Sql } from "../../src/sql/sql.ts";
import { createGate, waitUntil } from "../support/clock.ts";
import {
  createDatabase,
  markDatabase,
  query,
  takeDatabase,
  type TestDatabase,
} from "../support/postgres.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres-proxy.ts";
import { createCaller, staying } from "../support/rows.ts";
import { openForAll } from "../support/open-for.ts";

/** Tests guarantees of the PostgreSQL engine with a real server and broken connections. */

/** Skips tests behind a pooler that need many connections or end connections. */
const testDirectly = test.skipIf(process.env["WAYPOST_TEST_POOLER"] !== undefined);

type Tables = { readonly things: { readonly id: string; readonly number: number } };

let database: TestDatabase;
let proxy: PostgresProxy;
let store: Sql<Tables>;
let open: (url: string) => Promise<Sql<Tables>>;

openForAll(takeDatabase, async (opened, keep) => {
  database = opened;
  await markDatabase(database.url);
  keep({ close: () => query(database.url, "drop table things") });
  proxy = keep(await openPostgresProxy(database.url));
  open = async (url) => keep(await openPostgres<Tables>(url));
  store = await open(proxy.url);
  await store.write((db) =>
    sql`create table things (id text primary key, number bigint not null)`.execute(db),
  );
});

afterEach(() => proxy.restore());

const add = (by: Sql<Tables>, id: string, number = 0) =>
  by.write((db) => db.insertInto("things").values({ id, number }).execute());
const read = async (by: Pick<Sql<Tables>, "db">, id: string) =>
  (await by.db.selectFrom("things").select("number").where("id", "=", id).execute())[0]?.number;
const increase = (db: Kysely<Tables>, id: string) =>
  sql`update things set number = number + 1 where id = ${id}`.execute(db);
const once = { signal: staying, line: "one" };
type Work = (db: Kysely<Tables>) => Promise<unknown>;

/** Runs a statement while fake timers advance by ten minutes. */
async function takeLong<Db>(db: Kysely<Db>): Promise<void> {
  const sleeping = sql`select pg_sleep(0.3)`.execute(db);
  await waitForLoop();
  vi.advanceTimersByTime(10 * 60_000);
  await sleeping;
}

describe("a transaction", () => {
  test("reports a full disk", async () => {
    const fill = sql`do $$ begin raise exception using errcode = 'disk_full'; end $$`;
    const failed = await store.write((db) => fill.execute(db)).catch((error: unknown) => error);
    expect(isFull(failed)).toBe(true);
  });

  test("saves nothing if it continues after a failed statement", async () => {
    const written = store.write(async (db) => {
      await sql`select 1 / 0`.execute(db).catch(() => undefined);
      return "done";
    });
    await expect(written).rejects.toThrow("a statement failed, and the write went on");
  });

  test("fails with StoreBusy after waiting five seconds for a lock", async () => {
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
    await expect(store.write((db) => increase(db, "locked"))).rejects.toBeInstanceOf(StoreBusy);
    held.open();
    await holding;
    await store.write((db) => increase(db, "locked"));
    expect(await read(store, "locked")).toBe(2);
  });

  testDirectly("does not wait for reads that wait for a connection", async () => {
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

  test("limits a statement to an hour in a migration and to ten seconds otherwise", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const settings = sql<{ longest: string; lock: string }>`
      select current_setting('statement_timeout') as longest,
        current_setting('lock_timeout') as lock
    `;
    const limits: unknown[] = [];
    const up = async (db: Kysely<unknown>) => {
      await takeLong(db);
      limits.push(...(await settings.execute(db)).rows);
    };
    await migrate(store, { table: "test_migrations", list: [{ name: "001-long", up }] });
    expect(limits).toEqual([{ longest: "1h", lock: "1h" }]);
    await query(database.url, "drop table test_migrations");
    // The migration's limits apply only to its transaction.
    const [usual] = (await store.write((db) => settings.execute(db))).rows;
    expect(usual).toEqual({ longest: "10s", lock: "5s" });
  });

  test("fails before it reaches the server if one of its values contains a NUL", async () => {
    await expect(add(store, "a\0b")).rejects.toThrow("a text with a NUL reached the database");
  });
});

describe("a write that conflicts with writes of another process", () => {
  test("is repeated after a deadlock", async () => {
    const other = await open(database.url);
    await Promise.all([add(store, "x"), add(store, "y")]);
    const held = { x: createGate(), y: createGate() };
    const codes: unknown[] = [];
    const writeBoth = async (db: Kysely<Tables>, first: "x" | "y", second: "x" | "y") => {
      await increase(db, first);
      held[first].open();
      await held[second].opened;
      await increase(db, second).catch((error: unknown) => {
        codes.push(Object(error).code);
        throw error;
      });
    };
    // A long write has no lock timeout that could end it before the server sees the deadlock.
    await Promise.all([
      store.write((db) => writeBoth(db, "x", "y"), { isLong: true }),
      other.write((db) => writeBoth(db, "y", "x"), { isLong: true }),
    ]);
    expect(codes).toContain("40P01");
    expect([await read(store, "x"), await read(store, "y")]).toEqual([2, 2]);
  });

  test("is repeated for five seconds, and then fails with StoreBusy", async () => {
    const other = await open(database.url);
    await add(store, "wanted");
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const waits_ms = [0, 5000, 1];
    const written = store.write(async (db) => {
      await read({ db }, "wanted");
      await other.write((changing) => increase(changing, "wanted"));
      vi.advanceTimersByTime(waits_ms.shift() ?? expect.fail("it was repeated too often"));
      await increase(db, "wanted");
    });
    const busy = { name: "StoreBusy", message: "others write the same" };
    await expect(written).rejects.toMatchObject(busy);
    expect([waits_ms, await read(store, "wanted")]).toEqual([[], 3]);
  });
});

describe("a write whose response to COMMIT is lost", () => {
  test.each([
    ["committed", "answered", 1],
    ["not committed", "asked", undefined],
  ] as const)(
    "reports an unknown outcome and is not retried if it was in fact %s",
    async (_, moment, found) => {
      // Includes the first write of a process.
      for (const writer of [store, await open(proxy.url)]) {
        const id = `${moment} ${writer === store}`;
        proxy.cutAtCommit(moment);
        let times = 0;
        const written = writer.write(async (db) => {
          times += 1;
          await db.insertInto("things").values({ id, number: times }).execute();
        });
        await expect(written).rejects.toBeInstanceOf(OutcomeUnknown);
        expect([times, await read(store, id)]).toEqual([1, found]);
        await add(writer, `after ${id}`);
      }
    },
  );
});

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

describe("a broken connection", () => {
  test("makes calls fail with StoreBusy, and later calls use a new connection", async () => {
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

  test("is replaced without an error if a new connection opens immediately", async () => {
    const readAll = () => {
      const long = store.readLong((db) => read({ db }, "none"), once);
      return Promise.all([read(store, "none"), read(store, "none"), long]);
    };
    await Promise.all([readAll(), add(store, "before")]);
    proxy.cut();
    proxy.restore();
    expect(await readAll()).toEqual([undefined, undefined, undefined]);
    proxy.cut();
    proxy.restore();
    await add(store, "unnoticed");
  });

  test("causes a retry of the whole write even if some of its statements succeeded", async () => {
    const { fault, times } = await writeOverBreaks("broken", 5);
    expect([fault, times]).toEqual([undefined, 6]);
    expect(await read(store, "broken")).toBe(6);
    expect(await read(store, "broken 2")).toBe(6);
  });

  test("makes a write fail after six attempts, and nothing is saved", async () => {
    const { fault, times } = await writeOverBreaks("broken often", 6);
    expect(fault).toBeInstanceOf(StoreBusy);
    expect(times).toBe(6);
    expect(await read(store, "broken often")).toBeUndefined();
  });

  testDirectly("is replaced without an error after a server restart", async () => {
    const own = await open(database.url);
    await Promise.all([read(own, "any"), read(own, "any"), add(own, "before the restart")]);
    const endAll = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    await query(database.url, endAll);
    const id = "after the restart";
    await add(own, id, 3);
    expect(await read(own, id)).toBe(3);
    let times = 0;
    await own.write(async (db) => {
      times += 1;
      if (times === 1) await query(database.url, endAll);
      await db.updateTable("things").set({ number: 4 }).where("id", "=", id).execute();
    });
    expect([times, await read(own, id)]).toEqual([2, 4]);
  });

  test.each<[string, (work: Work) => Promise<unknown>]>([
    ["a read", (work) => work(store.db)],
    ["a long read", (work) => store.readLong(work, once)],
    ["a write", (work) => store.write(work)],
  ])("is closed after one timeout if it hangs during %s", async (_, run) => {
    await run((db) => sql`select`.execute(db));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const hanging = run((db) => {
      proxy.hang();
      return takeLong(db);
    });
    await expect(hanging).rejects.toMatchObject({ name: "StoreBusy", outage: "away" });
    proxy.restore();
    await run((db) => sql`select`.execute(db));
  });
});

test("the version number changes with each commit, even if transactions overlap", async () => {
  const other = await open(database.url);
  const seen = new Set<number>();
  const isNew = async () => {
    const before = seen.size;
    return seen.add(await store.readVersion()).size > before;
  };
  // Other tests write to the same server and may also change the version.
  await isNew();
  const held = createGate();
  const isBegun = createGate();
  const early = other.write(async (db) => {
    await db.insertInto("things").values({ id: "early", number: 1 }).execute();
    isBegun.open();
    await held.opened;
  });
  await isBegun.opened;
  await isNew();
  await add(store, "late");
  expect(await isNew()).toBe(true);
  held.open();
  await early;
  expect(await isNew()).toBe(true);
});

describe("a long read on PostgreSQL", () => {
  test("is rejected when its caller disconnects, but its connection stays busy", async () => {
    const { signal, leave } = createCaller();
    const [begun, over] = [createGate(), createGate()];
    const hold = (caller: ReadSignal, line: string) =>
      store.readLong(
        async () => {
          begun.open();
          await over.opened;
        },
        { signal: caller, line },
      );
    const left = hold(signal, "one");
    const stays = hold(staying, "two");
    await begun.opened;
    leave();
    await expect(left).rejects.toBeInstanceOf(StoreBusy);
    let isRead = false;
    const next = store.readLong(async () => (isRead = true), { signal: staying, line: "three" });
    await read(store, "any");
    expect(isRead).toBe(false);
    over.open();
    await Promise.all([stays, next]);
    expect(isRead).toBe(true);
  });

  test("waits for a running read of its own project but not of another project", async () => {
    const over = createGate();
    const ended: string[] = [];
    const begin = async (name: string, line: string, until?: Promise<unknown>) => {
      await store.readLong(async () => until, { signal: staying, line });
      ended.push(name);
    };
    const first = begin("first", "one", over.opened);
    const second = begin("second", "one");
    await begin("another project's", "two");
    expect(ended).toEqual(["another project's"]);
    over.open();
    await Promise.all([first, second]);
    expect(ended).toEqual(["another project's", "first", "second"]);
  });

  test("has a server-side timeout, unlike a short read", async () => {
    const select = sql<{ longest: string }>`select current_setting('statement_timeout') as longest`;
    const readLongest = (db: Kysely<Tables>) => select.execute(db).then(({ rows }) => rows[0]);
    expect(await store.readLong(readLongest, once)).toEqual({ longest: "1min" });
    expect(await readLongest(store.db)).toEqual({ longest: "0" });
  });

  test("ends when the store is closed", async () => {
    const own = await openPostgres<Tables>(database.url);
    const begun = createGate();
    const long = own.readLong(async (db) => {
      begun.open();
      await sql`select pg_sleep(50)`.execute(db);
    }, once);
    const isOver = expect(long).rejects.toBeInstanceOf(StoreBusy);
    await begun.opened;
    await own.close();
    await isOver;
  });
});

describe("a PostgreSQL database", () => {
  test("is refused and left unchanged if it contains another program's tables", async () => {
    const url = await createDatabase();
    await query(url, "create table migrations (name text)");
    const opening = openPostgres(url);
    await expect(opening).rejects.toBeInstanceOf(StoreUnusable);
    await expect(opening).rejects.toThrow("contains tables of another program");
  });

  test("causes an error that hides the password if it does not exist", async () => {
    const url = new URL(database.url);
    url.password = "hidden-word";
    url.pathname = "/nowhere";
    const limits = await openPostgres(url.href).catch((error: unknown) => error);
    expect(limits).toBeInstanceOf(StoreUnusable);
    expect(String(limits)).toContain(`@${url.host}/nowhere cannot be opened`);
    expect(JSON.stringify(limits) + String(limits)).not.toContain("hidden-word");
  });
});
