import { sql } from "kysely";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { openDatabase } from "../../src/sql/engine.ts";
import { createGate } from "../support/clock.ts";
import { serverVariable } from "../support/postgres.ts";
import { isOnPostgres } from "../support/store-place.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests writes while another process or connection holds a lock on the database. */

test.runIf(isOnPostgres)(
  "a write request that times out returns 503, whether it waits for a lock or another write",
  async () => {
    await using world = await createWorld();
    const { advance, call } = world;
    const { begun, resume } = letLocksTakeTime(world);
    await using held = await holdLinks(world);
    const create = (path: string) => call("POST", "/links", { body: { path } });
    const replies = [create("first"), create("second")];
    await begun;
    advance(200);
    replies.push(create("third"));
    // The earlier writes have waited for the lock.
    advance(9_700);
    resume();
    const outcomes = (await Promise.all(replies)).map(
      ({ status, body }) => `${status} ${body.error}`,
    );
    // One write has waited for the lock, and the other writes have no time left.
    expect(outcomes.toSorted()).toEqual([
      `503 ${messages.store_locked}`,
      `503 ${messages.not_begun}`,
      `503 ${messages.not_begun}`,
    ]);
    await held.release();
    await expectNothing(world);
  },
);

test.runIf(isOnPostgres)(
  "a write waits for a database lock for five seconds at most and never past its deadline",
  async () => {
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
  },
);

test.skipIf(isOnPostgres)(
  "while another process holds the lock, each write request returns 503 when it times out",
  async () => {
    await using world = await createWorld();
    const { advance, call, file } = world;
    const other = openDatabase(file);
    onTestFinished(() => other.close());
    other.exec("BEGIN IMMEDIATE");
    const turns = waitForQueuedWrites(world, 3);
    const replies = ["first", "second", "third"].map((path) =>
      call("POST", "/links", { body: { path } }),
    );
    await turns;
    advance(10_000);
    for (const { status, body } of await Promise.all(replies)) {
      expect([status, body.error]).toEqual([503, messages.not_begun]);
    }
    other.exec("ROLLBACK");
    await expectNothing(world);
  },
);

async function expectNothing({ call, store, reported }: World): Promise<void> {
  // This write runs only after all queued writes.
  await store.write(async () => undefined);
  expect((await call("GET", "/links")).body.meta.count).toBe(0);
  expect(reported).toEqual([]);
  expect((await call("POST", "/links", { body: { path: "later" } })).status).toBe(201);
}

async function holdLinks({ store }: World) {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(store.db);
  const address = new URL(process.env[serverVariable] ?? "");
  address.pathname = `/${rows[0]?.name}`;
  const holding = new Client(address.href);
  await holding.connect();
  await holding.query("begin; lock table links in exclusive mode");
  const release = () => holding.end();
  return { release, [Symbol.asyncDispose]: release };
}

/** Blocks the first write until `resume`. Each failed write takes as long as a lock's wait. */
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
  return { begun: begun.opened, resume: over.open };
}

function waitForQueuedWrites({ store }: World, count: number): Promise<void> {
  const { write } = store;
  const all = createGate();
  let replies = 0;
  const counted: typeof write = (work, options) => {
    replies += 1;
    if (replies === count) all.open();
    return write(work, options);
  };
  Object.assign(store, { write: counted });
  return all.opened;
}
