import { realpathSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import type { Kysely } from "kysely";
import {
  retryWhileBusy,
  DiskFailed,
  StoreBusy,
  StoreUnusable,
  ignoreFault,
  isBusy,
  isDamage,
} from "./faults.ts";
import {
  defineIsAwaited,
  openDatabase,
  createStatementRunner,
  type Database,
  type SqlQuery,
} from "./engine.ts";
import { createGroupCommit } from "./group-commit.ts";
import { createLongReads } from "./long-reads.ts";
import { openKysely, retryIfBusy } from "./open-kysely.ts";
import type { Sql } from "./sql.ts";
import { damaged, makePrivateFile, refuseFault, refuseForeignFile } from "./sqlite-file.ts";

/** Opens, checks and locks the SQLite files that contain Waypost's data. */

type OpenOptions = {
  /** Four bytes in the file's header that identify the program. */
  readonly applicationId: number;
  /** True to check every page, however large the file is. */
  readonly checksAll?: boolean | undefined;
};

/**
 * Opens or creates a SQLite file. Rejects a file that is damaged or not Waypost's, without changing
 * it. Reads use the writing connection, whose cache stays valid after its own commits. During a
 * transaction, they use a second connection, which sees no uncommitted changes.
 */
export async function openSqlite<Tables>(path: string, options: OpenOptions): Promise<Sql<Tables>> {
  const { writer, reader, log } = await openConnections(path, options);
  const longReads = createLongReads(path);
  const carryOver = createCheckpoints(longReads.runAside);
  const onWriter = createStatementRunner(writer);
  const onReader = createStatementRunner(reader);
  const db = openKysely<Tables>((query) => {
    // After a disk failure, data that looks committed may be lost.
    log.requireSound();
    return writer.isTransaction ? onReader(query) : onWriter(query);
  });
  const writing = openKysely<Tables>(onWriter);
  const readingLong = openKysely<Tables>(longReads.run);
  const readVersion = retryIfBusy(onReader);
  let commits = 0;
  const groups = createGroupCommit({
    begin: async (signal) => {
      log.requireSound();
      await retryWhileBusy(() => writer.exec("BEGIN IMMEDIATE"), { signal });
    },
    exec: (statement) => {
      writer.exec(statement);
      // Counted before callers get their results. Otherwise, a caller that has its result could
      // still read old data from a cache.
      if (statement === "COMMIT") commits += 1;
    },
    sync: () => {
      carryOver();
      return log.sync();
    },
  });

  return {
    engine: "sqlite",
    db,
    readLong: async (work, options) => {
      log.requireSound();
      return longReads.read(() => work(readingLong), options);
    },
    write: (work, options) => groups.write(() => work(writing), options),
    countWrites: () => commits,
    readVersion: async () => {
      log.requireSound();
      // Uses the second connection, because `data_version` ignores a connection's own commits.
      const { rows } = await readVersion(selectVersion);
      return Number(rows[0]?.["data_version"]);
    },
    close: async () => {
      await groups.finish();
      await log.close();
      // Close the thread's connection first, because an open one would leave the log file behind.
      await longReads.close();
      // Merge the log here, because closing a connection with open statements would leave the log
      // file behind. If other processes use the file, the last one to close it merges the log.
      ignoreFault(() => writer.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
      for (const connection of [reader, writer]) ignoreFault(() => connection.close());
    },
  };
}

const selectVersion: SqlQuery = { sql: "PRAGMA data_version", parameters: [] };

/**
 * Runs `work` in a transaction that keeps all other processes from opening the file. Throws
 * StoreBusy if another process has the file open.
 */
export async function lockSqlite<Result>(
  path: string,
  options: OpenOptions,
  work: (db: Kysely<unknown>) => Promise<Result>,
): Promise<Result> {
  refuseForeignFile(path, options.applicationId);
  const database = openDatabase(path);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE");
    await refuseDamage(database, path, options);
    const result = await work(openKysely<unknown>(createStatementRunner(database)));
    database.exec("COMMIT");
    return result;
  } catch (error) {
    throw isBusy(error) ? new StoreBusy(inUse, { cause: error, outage: "locked" }) : error;
  } finally {
    ignoreFault(() => database.close());
  }
}

export const inUse =
  "another process uses the data; stop every waypost process (serve, and clients that start " +
  "one), and run the same command again";

async function openConnections(path: string, options: OpenOptions) {
  const opened: Database[] = [];
  const open = async () => {
    const database = openDatabase(path);
    opened.push(database);
    await retryWhileBusy(() => prepareConnection(database, options));
    return database;
  };
  refuseForeignFile(path, options.applicationId);
  makePrivateFile(path, options.applicationId);
  try {
    const writer = await open();
    await refuseDamage(writer, path, options);
    return { writer, reader: await open(), log: await openLogSync(realpathSync(path)) };
  } catch (error) {
    for (const database of opened) ignoreFault(() => database.close());
    const isExplained = error instanceof StoreUnusable || error instanceof StoreBusy;
    throw isExplained ? error : refuseFault(path, error);
  }
}

const cache_mb = 64;
/** The maximum size of a file that is checked page by page at every start. */
const checkedBytes = 16 * 1024 * 1024;

const lookAtSchema = "SELECT 'ok' FROM (SELECT count(*), max(sql) FROM sqlite_schema)";

async function refuseDamage(
  database: Database,
  path: string,
  { checksAll = statSync(path).size <= checkedBytes }: OpenOptions,
): Promise<void> {
  const check = () => database.prepare(checksAll ? "PRAGMA quick_check(1)" : lookAtSchema).all();
  const rows = await retryWhileBusy(check).catch((error: unknown) => {
    if (!isDamage(error)) throw error;
    return [];
  });
  if (Object.values(rows[0] ?? {})[0] === "ok") return;
  throw new StoreUnusable(damaged(path));
}

function prepareConnection(database: Database, { applicationId }: OpenOptions): void {
  const [owner] = database.prepare("PRAGMA application_id").all();
  const wasEmpty = Object.values(owner ?? {})[0] === 0;
  if (wasEmpty) database.exec(`PRAGMA application_id = ${applicationId}`);
  database.exec("PRAGMA journal_mode = WAL");
  // NORMAL is enough, because `openLogSync` syncs each commit before its caller gets the result.
  database.exec("PRAGMA synchronous = NORMAL");
  // A fallback, because `createCheckpoints` normally merges the log before it gets this long.
  database.exec(`PRAGMA wal_autocheckpoint = ${longestLog_pages}`);
  database.exec("PRAGMA foreign_keys = ON");
  database.exec(`PRAGMA cache_size = -${cache_mb * 1024}`);
  database.exec("PRAGMA temp_store = MEMORY");
  // Always true, because during a statement, this thread cannot notice that the caller gives up.
  defineIsAwaited(database, () => true);
}

/**
 * Makes commits durable, like `synchronous=FULL`: the log is synced after each commit, before a
 * caller gets its result. SQLite would block the main thread, but Node syncs in another thread.
 * Other callers may read a commit before it is on disk. If a power failure then loses it, their own
 * later writes are lost too, because the log is valid only up to its first gap.
 */
export type LogSync = {
  /** Resolves when all earlier commits, of any process, are on disk. */
  readonly sync: () => Promise<void>;
  /** Throws `DiskFailed` if a sync has failed. */
  readonly requireSound: () => void;
  readonly close: () => Promise<void>;
};

/** Opens the log file, which exists once a connection has read or written. */
export async function openLogSync(path: string): Promise<LogSync> {
  // Opened for writing, because Windows cannot sync a read-only file. Closing it releases no locks,
  // because SQLite does not lock the log file.
  const file = await open(`${path}-wal`, "r+");
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  let failed: DiskFailed | undefined;

  async function syncAfter(before: Promise<void>): Promise<void> {
    await before;
    next = undefined;
    try {
      await file.datasync();
    } catch (cause) {
      const message = "the disk failed to sync; check the disk and restart Waypost";
      failed = new DiskFailed(message, { cause });
      throw failed;
    }
  }

  return {
    sync: () => {
      // A running sync may miss the latest commits, so wait for the next one. All calls that arrive
      // before it starts share it.
      next ??= syncAfter(last);
      last = next;
      return last;
    },
    requireSound: () => {
      // After a failed sync, the disk may report later syncs as successful although data was lost.
      if (failed !== undefined) throw failed;
    },
    close: async () => {
      await last.catch(() => undefined);
      await file.close();
    },
  };
}

const commitsApart = 50;
/** 40 MB, in pages of 4 kB. */
const longestLog_pages = 10_000;

/**
 * Merges the log into the file after every few commits. The merge runs in the thread for long
 * reads, because syncing the file would block other work. The log starts over only after all of it
 * was merged. If writes never pause, SQLite itself merges it at a commit once the log is long.
 */
function createCheckpoints(runAside: (query: SqlQuery) => Promise<unknown>): () => void {
  let commits = 0;
  let isRunning = false;
  return () => {
    commits += 1;
    if (commits < commitsApart || isRunning) return;
    commits = 0;
    isRunning = true;
    void runAside({ sql: "PRAGMA wal_checkpoint(PASSIVE)", parameters: [] })
      // A failed merge is retried after the usual number of commits.
      .catch(() => undefined)
      .finally(() => (isRunning = false));
  };
}
