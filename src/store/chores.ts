import { setTimeout } from "node:timers/promises";
import type { SetAlarm } from "../contract/clock.ts";
import { StoreBusy } from "../sql/faults.ts";
import type { Sql } from "../sql/sql.ts";
import type { ChoreTable, Db, Tables, Tenant } from "./tables.ts";

/**
 * Long work in short transactions. The transaction that decides on it queues a chore; then it is
 * done batch by batch, so that no other request waits for long, and the next process that starts
 * continues where a killed one stopped. Two processes may work at the same chore: every batch
 * begins with what is left.
 */

type Writer = Pick<Sql<Tables>, "write">;

/** Does a batch of each kind of chore; true when nothing is left to do. */
export type ChoreWork = Readonly<
  Record<ChoreTable["kind"], (tenant: Tenant, subject: string) => Promise<boolean>>
>;

/** Between two batches: the lock is free, and other work of this process has its turn. */
const pause_ms = 2;

export async function queueChore(db: Db, chore: ChoreTable): Promise<void> {
  const insert = db.insertInto("chores").values(chore);
  await insert.onConflict((conflict) => conflict.doNothing()).execute();
}

/** Ends a chore that is done or no longer needed. */
export async function dropChore(db: Db, chore: ChoreTable): Promise<void> {
  await db
    .deleteFrom("chores")
    .where((row) => row.and(chore))
    .execute();
}

/** Goes through all chores once. One that fails holds up no other; it is tried again next time. */
export async function runChores(
  store: Sql<Tables>,
  work: ChoreWork,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  // Another process holds the store, or it is away, and there is nothing to report each time.
  const note = (error: unknown) => {
    if (!(error instanceof StoreBusy)) onError(error);
  };
  const chores = await store.db.selectFrom("chores").selectAll().execute().catch(note);
  for (const chore of chores ?? []) await runChore(store, work, chore, signal).catch(note);
}

/** Works at one chore until it is done. */
export function runChore(
  store: Writer,
  work: ChoreWork,
  chore: ChoreTable,
  signal: AbortSignal,
): Promise<void> {
  const { kind, project_id: projectId, subject } = chore;
  const runBatch = async (db: Db) => {
    // Another transaction may have dropped it: a restored app keeps its links.
    const isLast = !(await isQueued(db, chore)) || (await work[kind]({ db, projectId }, subject));
    if (isLast) await dropChore(db, chore);
    return isLast;
  };
  return repeatWrite(store, runBatch, signal);
}

/** Repeats a write that does a batch of long work until it returns true. */
export async function repeatWrite(
  { write }: Writer,
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

/** Repeats work, with a pause between two turns, until the returned function is called. */
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
