import { setImmediate } from "node:timers/promises";
import type { KyselyPlugin } from "kysely";
import { expect } from "vitest";
import type { SetAlarm } from "../../src/contract/clock.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import type { World } from "../support/world.ts";

/** Opens a second connection to a world's store, to run its background tasks step by step. */

/** Opens the store, and runs `afterWrite` after each of its transactions. */
export async function openWith(
  { openSql, setAlarm }: World,
  afterWrite: () => void | Promise<void>,
): Promise<Store> {
  const sql = await openSql();
  const write: typeof sql.write = async (work, options) => {
    const result = await sql.write(work, options);
    await afterWrite();
    return result;
  };
  return openStore({ ...sql, write }, setAlarm);
}

export type Watcher = {
  readonly errors: readonly unknown[];
  /** Polls again after this time. Resolves when all found tasks are done. */
  readonly lookAgain: (after_ms?: number) => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** Polls for tasks once, like a running server. */
export async function watchTasks({ openSql, clock, setAlarm, advance }: World): Promise<Watcher> {
  const sql = await openSql();
  let reads = 0;
  const counter: KyselyPlugin = {
    transformQuery: ({ node }) => {
      reads += 1;
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  let rest: (() => void) | undefined;
  const set: SetAlarm = (milliseconds, ring) => {
    rest?.();
    return setAlarm(milliseconds, ring);
  };
  const store = await openStore({ ...sql, db: sql.db.withPlugin(counter) }, set);
  const look = async (begin: () => void) => {
    const before = reads;
    const isDone = new Promise<void>((resolve) => (rest = resolve));
    begin();
    await setImmediate();
    expect(reads).toBeGreaterThan(before);
    await isDone;
  };
  const errors: unknown[] = [];
  await look(() => store.watchTasks(clock, (error) => errors.push(error)));
  return {
    errors,
    lookAgain: (after_ms = 1000) => look(() => advance(after_ms)),
    [Symbol.asyncDispose]: () => store.close(),
  };
}
