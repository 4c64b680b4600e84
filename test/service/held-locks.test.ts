import { sql } from "kysely";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { openDatabase } from "../../src/sql/engine.ts";
import { createGate } from "../support/clock.ts";
import { serverVariable } from "../support/postgres.ts";
import { isOnPostgres } from "../support/store-place.ts";
import { createWorld, type World } from "../support/world.ts";

/** What those are told whose writes meet a lock that somebody else holds: never that it may be. */

test.runIf(isOnPostgres)("behind one lock each is told that nothing was written", async () => {
  await using world = await createWorld();
  const { advance, call } = world;
  const { begun, goOn } = letLocksTakeTime(world);
  await using held = await holdLinks(world);
  const create = (path: string) => call("POST", "/links", { body: { path } });
  const asked = [create("first"), create("second")];
  await begun;
  advance(200);
  asked.push(create("third"));
  // Somebody else's lock has held up those before it.
  advance(9_700);
  goOn();
  const told = (await Promise.all(asked)).map(({ status, body }) => `${status} ${body.error}`);
  // One has waited for the lock, whichever came first. The others have no time left for that.
  expect(told.toSorted()).toEqual([
    `503 ${messages.store_locked}`,
    `503 ${messages.not_begun}`,
    `503 ${messages.not_begun}`,
  ]);
  await held.letGo();
  await expectNothing(world);
});

test.runIf(isOnPostgres)("a lock is waited for no longer than the caller waits", async () => {
  await using world = await createWorld();
  const lefts: readonly [number | undefined, string][] = [
    [undefined, "5s"],
    [9_000, "5s"],
    [3_000, "3s"],
    [0.2, "1ms"],
    [0, "1ms"],
    [-4_000, "1ms"],
  ];
  for (const [left, longest] of lefts) {
    const left_ms = left === undefined ? undefined : () => left;
    const signal = { hasLeft: () => false, ...(left_ms && { left_ms }) };
    const read = sql<{ longest: string }>`select current_setting('lock_timeout') as longest`;
    const { rows } = await world.store.write((db) => read.execute(db), { signal });
    expect([left, rows]).toEqual([left, [{ longest }]]);
  }
});

test.skipIf(isOnPostgres)("behind another process's lock each is told so at once", async () => {
  await using world = await createWorld();
  const { advance, call, file } = world;
  const other = openDatabase(file);
  onTestFinished(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  const turns = countTurns(world, 3);
  const asked = ["first", "second", "third"].map((path) =>
    call("POST", "/links", { body: { path } }),
  );
  await turns;
  advance(10_000);
  for (const { status, body } of await Promise.all(asked)) {
    expect([status, body.error]).toEqual([503, messages.not_begun]);
  }
  other.exec("ROLLBACK");
  await expectNothing(world);
});

async function expectNothing({ call, store, reported }: World): Promise<void> {
  // Whatever still waited has had its turn before this one.
  await store.write(async () => undefined);
  expect((await call("GET", "/links")).body.meta.count).toBe(0);
  expect(reported).toEqual([]);
  expect((await call("POST", "/links", { body: { path: "later" } })).status).toBe(201);
}

/** Writes of links wait for it, and reads do not. */
async function holdLinks({ store }: World) {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(store.db);
  const address = new URL(process.env[serverVariable] ?? "");
  address.pathname = `/${rows[0]?.name}`;
  const holding = new Client(address.href);
  await holding.connect();
  await holding.query("begin; lock table links in exclusive mode");
  const letGo = () => holding.end();
  return { letGo, [Symbol.asyncDispose]: letGo };
}

/**
 * The first write has begun when it is told, and goes on when it is let. Each that fails has taken
 * as long as it would have waited for the lock.
 */
function letLocksTakeTime({ store, advance }: World) {
  const { write } = store;
  const [begun, over] = [createGate(), createGate()];
  const slow: typeof write = (work, options) =>
    write(async (db) => {
      begun.open();
      await over.opened;
      const { rows } = await sql<{ ms: number }>`
        select extract(epoch from current_setting('lock_timeout')::interval) * 1000 as ms
      `.execute(db);
      try {
        return await work(db);
      } catch (error) {
        advance(Number(rows[0]?.ms));
        throw error;
      }
    }, options);
  Object.assign(store, { write: slow });
  return { begun: begun.opened, goOn: over.open };
}

/** Resolves when so many have asked to write. */
function countTurns({ store }: World, count: number): Promise<void> {
  const { write } = store;
  const all = createGate();
  let asked = 0;
  const counted: typeof write = (work, options) => {
    asked += 1;
    if (asked === count) all.open();
    return write(work, options);
  };
  Object.assign(store, { write: counted });
  return all.opened;
}
