import { setTimeout } from "node:timers/promises";
import type { SetAlarm } from "../contract/clock.ts";
import { StoreBusy } from "../sql/faults.ts";
import type { Sql } from "../sql/sql.ts";
import type { ChoreTable, Db, Tables, Tenant } from "./tables.ts";

/**
 * Chores split long work into short transactions, so that other requests do not wait long. A
 * transaction queues a chore, which then runs in batches. If the process is killed, another one
 * continues. Two processes can run the same chore, because each batch looks for remaining work.
 */

type BatchWriter = Pick<Sql<Tables>, "write">;

/** The functions that run one batch of each kind of chore. They return true if no work is left. */
export type ChoreWork = Readonly<
  Record<ChoreTable["kind"], (tenant: Tenant, subject: string) => Promise<boolean>>
>;

/** The pause between two batches, for other writers and other work of this process. */
const pause_ms = 2;

export async function queueChore(db: Db, chore: ChoreTable): Promise<void> {
  const insert = db.insertInto("chores").values(chore);
  await insert.onConflict((conflict) => conflict.doNothing()).execute();
}

/** Removes a chore that is finished or no longer needed. */
export async function dropChore(db: Db, chore: ChoreTable): Promise<void> {
  await db
    .deleteFrom("chores")
    .where((row) => row.and(chore))
    .execute();
}

/** Runs all queued chores. If one fails, the others still run, and the next call retries it. */
export async function runChores(
  store: Sql<Tables>,
  work: ChoreWork,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  // Do not report an outage on every run.
  const note = (error: unknown) => {
    if (!(error instanceof StoreBusy)) onError(error);
  };
  const chores = await store.db.selectFrom("chores").selectAll().execute().catch(note);
  for (const chore of chores ?? []) await runChore(store, work, chore, signal).catch(note);
}

/** Runs one chore until it is done. */
export function runChore(
  store: BatchWriter,
  work: ChoreWork,
  chore: ChoreTable,
  signal: AbortSignal,
): Promise<void> {
  const { kind, project_id: projectId, subject } = chore;
  const runBatch = async (db: Db) => {
    // Restoring an app removes the chore that detaches its links.
    const isLast = !(await isQueued(db, chore)) || (await work[kind]({ db, projectId }, subject));
    if (isLast) await dropChore(db, chore);
    return isLast;
  };
  return repeatWrite(store, runBatch, signal);
}

/** Repeats a write until its batch returns true. */
export async function repeatWrite(
  { write }: BatchWriter,
  runBatch: (db: Db) => Promise<boolean>,
  signal?: AbortSignal,
): Promise<void> {
  while (signal?.aborted !== true) {
    if (await write(runBatch, { isPatient: true })) return;
    await setTimeout(pause_ms);
  }
}

async function isQueued(db: Db, chore: ChoreTable): Promise<boolean> {
  const queued = db
    .selectFrom("chores")
    .select("kind")
    .where((row) => row.and(chore));
  return (await queued.executeTakeFirst()) !== undefined;
}

/** Repeats work, with pauses, until the caller calls the returned function. */
export function repeatEvery(
  pause_ms: number,
  setAlarm: SetAlarm,
  work: () => Promise<void>,
): () => Promise<void> {
  let isStopped = false;
  let cancelAlarm: (() => void) | undefined;
  let running = run();

  async function run(): Promise<void> {
    await work();
    if (isStopped) return;
    cancelAlarm = setAlarm(pause_ms, () => {
      running = run();
    });
  }

  return async () => {
    isStopped = true;
    cancelAlarm?.();
    await running;
  };
}
