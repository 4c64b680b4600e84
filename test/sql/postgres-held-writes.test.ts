import { sql, type Kysely } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { holdWrites } from "../../src/sql/hold-writes.ts";
import { openPostgresPool, type PostgresPool } from "../../src/sql/postgres-pool.ts";
import { createPostgresWrites } from "../../src/sql/postgres-writes.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { createGate } from "../support/gate.ts";
import { takeDatabase, type TestDatabase } from "../support/postgres.ts";
import { staying } from "../support/rows.ts";

/** What those who write to a database are told while it is copied. */

let database: TestDatabase;
let copied: Sql<unknown>;
let pool: PostgresPool;

beforeAll(async () => {
  database = await takeDatabase();
  copied = await database.open();
  pool = openPostgresPool(database.url, 1);
  await copied.write((db) => sql`select 1`.execute(db));
});

afterAll(async () => {
  await pool.close();
  await copied.close();
  await database.giveBack();
});

/** Holds writes off until it is let go of. */
async function hold(look: (db: Kysely<unknown>) => Promise<unknown> = () => Promise.resolve()) {
  const [held, over] = [createGate(), createGate()];
  const work = async (db: Kysely<unknown>) => {
    await holdWrites(db);
    const seen = await look(db);
    held.open();
    await over.opened;
    return seen;
  };
  const reading = copied.readLong(work, { signal: staying, line: "copy" });
  await Promise.race([held.opened, reading]);
  return async () => {
    over.open();
    return reading;
  };
}

test("all who wait fail at once, are told why, and write again when it is over", async () => {
  const lock_ms = 100;
  const writes = createPostgresWrites(pool, lock_ms);
  const letGo = await hold();
  let begun = 0;
  const write = (isPatient: boolean) =>
    writes.write(() => Promise.resolve((begun += 1)), { isPatient });
  const tried = await Promise.allSettled([false, false, true, false].map(write));
  const reasons = tried.map((one) => one.status === "rejected" && (one.reason as unknown));
  const [first] = reasons;
  expect(first).toMatchObject({
    name: "StoreBusy",
    outage: "held",
    message: expect.stringMatching(
      /^nothing was written: `waypost migrate` is copying the database/,
    ),
    cause: { code: "55P03" },
  });
  // One of them has waited, for all.
  for (const reason of reasons) expect(reason).toBe(first);
  expect(begun).toBe(0);
  const later = write(false);
  await expect(later).rejects.not.toBe(first);
  await letGo();
  expect(await write(false)).toBe(1);
  await writes.finish();
});

test("whoever has left while it waited for that has nothing begun for it", async () => {
  const writes = createPostgresWrites(pool);
  const letGo = await hold();
  const seen: string[] = [];
  let hasLeft = false;
  const waiting = createGate();
  const signal = {
    hasLeft: () => {
      waiting.open();
      return hasLeft;
    },
    noteWriting: () => seen.push("noted"),
  };
  const late = writes.write(() => Promise.resolve(seen.push("written")), { signal });
  const told = expect(late).rejects.toMatchObject({ name: "StoreBusy", outage: "busy" });
  await waiting.opened;
  hasLeft = true;
  await letGo();
  await told;
  expect(seen).toEqual([]);
  expect(await writes.write(() => Promise.resolve("next"))).toBe("next");
  await writes.finish();
});

test("whoever holds them and vanishes is noticed by the server within a minute", async () => {
  const names = ["idle", "interval", "count"].map((name) => `tcp_keepalives_${name}`);
  const read = async (db: Kysely<unknown>) => {
    const settings = [...names, "tcp_user_timeout"].map(
      (name) => sql<string>`current_setting(${name})`,
    );
    const { rows } = await sql<{ readonly all: string }>`
      select concat_ws(' ', ${sql.join(settings)}) as all
    `.execute(db);
    return rows[0]?.all;
  };
  const before = await read(copied.db);
  const letGo = await hold(read);
  expect(await letGo()).toBe("30 10 3 60000");
  // It is said for that transaction alone.
  expect(await read(copied.db)).toBe(before);
});
