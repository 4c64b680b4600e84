import { setTimeout } from "node:timers/promises";
import type { SetAlarm } from "../contract/clock.ts";
import { StoreBusy } from "../sql/faults.ts";
import type { Sql } from "../sql/sql.ts";
import type { TaskTable, Db, Tables, Tenant } from "./tables.ts";

/**
 * Background tasks split long work into short transactions, so that other writes do not wait long.
 * A transaction queues a task, and the task then runs in batches. If the process exits, another
 * process continues the task. Two processes can even run the same task at once, because each batch
 * handles only what is left.
 */

type BatchWriter = Pick<Sql<Tables>, "write">;

/** For each kind of task, a function that runs one batch and returns true if nothing is left. */
export type TaskWork = Readonly<
  Record<TaskTable["kind"], (tenant: Tenant, subject: string) => Promise<boolean>>
>;

/** The pause between two batches, for other writes and requests. */
const pause_ms = 2;

export async function queueTask(db: Db, task: TaskTable): Promise<void> {
  const insert = db.insertInto("chores").values(task);
  await insert.onConflict((conflict) => conflict.doNothing()).execute();
}

export async function dropTask(db: Db, task: TaskTable): Promise<void> {
  await db
    .deleteFrom("chores")
    .where((row) => row.and(task))
    .execute();
}

/** Runs all queued tasks. If one fails, the others still run, and a later call retries it. */
export async function runTasks(
  store: Sql<Tables>,
  work: TaskWork,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  // Outages are not reported here, because every run would report them again.
  const note = (error: unknown) => {
    if (!(error instanceof StoreBusy)) onError(error);
  };
  const tasks = await store.db.selectFrom("chores").selectAll().execute().catch(note);
  for (const task of tasks ?? []) await runTask(store, work, task, signal).catch(note);
}

export function runTask(
  store: BatchWriter,
  work: TaskWork,
  task: TaskTable,
  signal: AbortSignal,
): Promise<void> {
  const { kind, project_id: projectId, subject } = task;
  const runBatch = async (db: Db) => {
    // The task may have been cancelled: restoring an app cancels the task that detaches its links.
    const isLast = !(await isQueued(db, task)) || (await work[kind]({ db, projectId }, subject));
    if (isLast) await dropTask(db, task);
    return isLast;
  };
  return repeatWrite(store, runBatch, signal);
}

/** Repeats a write until it returns true. */
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

async function isQueued(db: Db, task: TaskTable): Promise<boolean> {
  const queued = db
    .selectFrom("chores")
    .select("kind")
    .where((row) => row.and(task));
  return (await queued.executeTakeFirst()) !== undefined;
}

/** Runs `work` repeatedly, with pauses, until the returned function is called. */
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

/** Writes changes that were collected in memory. Only one write runs at a time. */
type Flusher = {
  /** Writes after `delay_ms`. Resolves when the write has ended, even if it failed. */
  readonly schedule: () => Promise<void>;
  /** Writes at once, or as soon as the current write has ended. */
  readonly flush: () => Promise<void>;
  /** Writes the remaining changes. Later calls of `schedule` write nothing. */
  readonly close: () => Promise<void>;
};

/** `write` must handle its own errors. */
export function createFlusher(
  write: () => Promise<void>,
  setAlarm: SetAlarm,
  delay_ms: number,
): Flusher {
  let last: Promise<void> = Promise.resolve();
  let queued: Promise<void> | undefined;
  let scheduled: Promise<void> | undefined;
  let isClosed = false;

  function flush(): Promise<void> {
    queued ??= last.then(() => {
      queued = undefined;
      return write();
    });
    last = queued;
    return queued;
  }

  return {
    schedule: () => {
      if (isClosed) return last;
      scheduled ??= new Promise<void>((resolve) => {
        setAlarm(delay_ms, resolve);
      }).then(() => {
        scheduled = undefined;
        return isClosed ? last : flush();
      });
      return scheduled;
    },
    flush,
    close: () => {
      isClosed = true;
      return flush();
    },
  };
}
