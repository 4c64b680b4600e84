import type { Clock, SetAlarm } from "../contract/clock.ts";
import { readOutage } from "../sql/faults.ts";
import { isCurrent, migrate } from "../sql/migrate.ts";
import { readEngine } from "../sql/open-kysely.ts";
import type { Sql } from "../sql/sql.ts";
import { dropExpired } from "./bin.ts";
import { createCache, type Cache } from "./cache.ts";
import { repeatEvery, runTask, runTasks, type TaskWork } from "./background-tasks.ts";
import { tidyOutboxes } from "./webhooks.ts";
import { dropEndedVisits } from "./installs.ts";
import { attachBatch, detachBatch } from "./links.ts";
import { purgeBatch } from "./projects.ts";
import { storeMigrations, type TaskTable, type Db, type Tables } from "./tables.ts";
import { indexBatch } from "./trigram-index.ts";

export { Duplicate, isFull, OutcomeUnknown, readOutage, StoreBusy } from "../sql/faults.ts";

/** The database of links, apps, projects, keys and visits, with its background tasks. */
export type Store = Omit<Sql<Tables>, "engine"> & {
  readonly counts: Cache<number>;
  /** Whether the database has the tables of this version of Waypost. Throws if it is unreadable. */
  readonly isCurrent: () => Promise<boolean>;
  /** Runs background tasks and deletes expired data, until the store is closed. */
  readonly watchTasks: (clock: Clock, onError: (error: unknown) => void) => void;
  /** Runs the queued background tasks, and waits for them. */
  readonly finishTasks: () => Promise<void>;
  /** Runs a background task. If it takes longer than `most_ms`, it continues in the background. */
  readonly finishTask: (task: TaskTable, most_ms: number) => Promise<void>;
};

const work: TaskWork = {
  purge_project: purgeBatch,
  detach_ios_app: (tenant, id) => detachBatch(tenant, "ios_app", id),
  detach_android_app: (tenant, id) => detachBatch(tenant, "android_app", id),
  attach_ios_app: (tenant, id) => attachBatch(tenant, "ios_app", id),
  attach_android_app: (tenant, id) => attachBatch(tenant, "android_app", id),
  index_project: indexBatch,
};

const mostCounts = 1000;
const watchEvery_ms = 1000;
const dropEvery_ms = 60_000;
type DropExpired = (sql: Sql<Tables>, now: number, signal: AbortSignal) => Promise<void>;
const dropOld: readonly DropExpired[] = [dropExpired, dropEndedVisits, tidyOutboxes];

/** Opens the store. If `mustExist` is true, a database without tables is an error (NotMigrated). */
export async function openStore(
  sql: Sql<Tables>,
  setAlarm: SetAlarm,
  mustExist = false,
): Promise<Store> {
  await migrate(sql, storeMigrations, mustExist).catch(async (error: unknown) => {
    await sql.close();
    throw error;
  });
  const closing = new AbortController();
  let stopWatching: (() => Promise<void>) | undefined;

  return {
    ...sql,
    counts: createCache(mostCounts),
    isCurrent: () => isCurrent(sql, storeMigrations),
    watchTasks: (clock, onError) => {
      const runAll = createWatchedWork(sql, clock, closing.signal, onError);
      stopWatching ??= repeatEvery(watchEvery_ms, setAlarm, runAll);
    },
    finishTasks: () =>
      runTasks(sql, work, closing.signal, (error) => {
        throw error;
      }),
    finishTask: async (task, most_ms) => {
      const late = new AbortController();
      const stopAlarm = setAlarm(most_ms, () => late.abort());
      const signal = AbortSignal.any([closing.signal, late.signal]);
      // The change is already committed. After an outage, its task stays queued and runs later.
      await runTask(sql, work, task, signal).catch(ignoreOutage).finally(stopAlarm);
    },
    close: async () => {
      closing.abort();
      await stopWatching?.();
      await sql.close();
    },
  };
}

function createWatchedWork(
  sql: Sql<Tables>,
  clock: Clock,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): () => Promise<void> {
  // An outage is not reported, because the next run deletes the expired data.
  const note = (error: unknown) => {
    if (readOutage(error) === undefined) onError(error);
  };
  let droppedAt = -Infinity;
  return async () => {
    if (clock.monotonic() - droppedAt >= dropEvery_ms) {
      droppedAt = clock.monotonic();
      for (const drop of dropOld) await drop(sql, clock.now(), signal).catch(note);
    }
    await runTasks(sql, work, signal, onError);
  };
}

function ignoreOutage(error: unknown): void {
  if (readOutage(error) === undefined) throw error;
}

/** Returns the database's name and version, such as `SQLite 3.51.3`. */
export async function nameEngine(db: Db): Promise<string> {
  const isFile = readEngine(db) === "sqlite";
  const { version } = await db
    .selectNoFrom((build) =>
      (isFile
        ? build.fn<string>("sqlite_version")
        : build.fn<string>("current_setting", [build.val("server_version")])
      ).as("version"),
    )
    .executeTakeFirstOrThrow();
  return `${isFile ? "SQLite" : "PostgreSQL"} ${version}`.trim();
}
