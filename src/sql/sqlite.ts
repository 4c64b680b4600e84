import { realpathSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import type { Kysely } from "kysely";
import { retryWhileBusy } from "./busy-lock.ts";
import { type Database, defineIsAwaited, openDatabase } from "./engine.ts";
import { DiskFailed, StoreBusy, StoreUnusable, ignoreFault, isBusy, isDamage } from "./faults.ts";
import { createGroupCommit } from "./group-commit.ts";
import { createLongReads } from "./long-reads.ts";
import { openKysely } from "./open-kysely.ts";
import { type Query, createStatementRunner } from "./run-statements.ts";
import type { Sql } from "./sql.ts";
import { damaged, makePrivateFile, refuseFault, refuseForeignFile } from "./sqlite-file.ts";

type OpenOptions = {
  /** Four bytes in the file's header that say which program the file is of. */
  readonly applicationId: number;
  /** Looks at every page, however many there are. */
  readonly checksAll?: boolean | undefined;
};

/**
 * Opens a SQLite file, or makes one. A file that is not ours or is damaged is refused and left as
 * it is. Two connections: while a transaction is open on the one that writes, the other one reads,
 * so that no reader sees half of it. At other times the first one reads, too: it keeps the pages
 * that it has read over its own commits, and any other connection drops all of them.
 */
export async function openSqlite<Tables>(path: string, options: OpenOptions): Promise<Sql<Tables>> {
  const { writer, reader, log } = await openConnections(path, options);
  const longReads = createLongReads(path);
  const carryOver = createCheckpoints(longReads.runAside);
  const onWriter = createStatementRunner(writer);
  const onReader = createStatementRunner(reader);
  const db = openKysely<Tables>((query) => {
    // What a disk that fails has not kept must not be shown as kept.
    log.requireSound();
    return writer.isTransaction ? onReader(query) : onWriter(query);
  });
  const writing = openKysely<Tables>(onWriter);
  const readingLong = openKysely<Tables>(longReads.run);
  const groups = createGroupCommit({
    begin: async (signal) => {
      log.requireSound();
      await retryWhileBusy(() => writer.exec("BEGIN IMMEDIATE"), { signal });
    },
    exec: (statement) => writer.exec(statement),
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
    countWrites: groups.countCommits,
    readVersion: async () => {
      log.requireSound();
      // It reports only the commits of other connections, so it is always read on the same one.
      const { rows } = await retryWhileBusy(() => onReader(selectVersion));
      return Number(rows[0]?.["data_version"]);
    },
    close: async () => {
      await groups.finish();
      await log.close();
      // Its connection would hold the log back. Whatever is carried over just now ends before.
      await longReads.close();
      // The log goes into the file now: an engine that keeps statements open would leave it behind.
      // Where another process holds the file, the last one to close merges the log.
      ignoreFault(() => writer.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
      for (const connection of [reader, writer]) ignoreFault(() => connection.close());
    },
  };
}

const selectVersion: Query = { sql: "PRAGMA data_version", parameters: [] };

/**
 * Runs `work` in a transaction during which no other process can open the file. StoreBusy if one
 * has it open already.
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

/** How much of the file each connection may keep in memory. */
const cache_mb = 64;
/** Looking at every page of a larger file would hold up the start for too long. */
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
  // `openLogSync` syncs each commit before a caller gets its answer.
  database.exec("PRAGMA synchronous = NORMAL");
  // `createCheckpoints` carries nearly all of the log over before this is reached.
  database.exec(`PRAGMA wal_autocheckpoint = ${longestLog_pages}`);
  database.exec("PRAGMA foreign_keys = ON");
  database.exec(`PRAGMA cache_size = -${cache_mb * 1024}`);
  database.exec("PRAGMA temp_store = MEMORY");
  // In this thread nothing can come between: whoever asks is still there.
  defineIsAwaited(database, () => true);
}

/** SQLite's write-ahead log: when it is synced, and when it is carried over into the file. */

/**
 * Waits until what was committed is on the disk, as the engine would with `synchronous=FULL`: the
 * same file, after each commit and before any caller gets an answer. The engine would wait in the
 * thread that serves everybody; Node waits in another. Beside 200 creates a second on a busy disk,
 * a visitor's p99 was 40 ms and more, and is 1 to 2.
 *
 * Until then others may read what was committed. If the power fails they have seen what is lost,
 * but what they wrote after it is lost with it: the log counts up to its first gap.
 */
export type LogSync = {
  /** Resolves when everything that any process committed is on the disk. */
  readonly sync: () => Promise<void>;
  /** Throws `DiskFailed` when the disk has failed before. */
  readonly requireSound: () => void;
  readonly close: () => Promise<void>;
};

/** The engine makes the log with the first read or write of a connection. */
export async function openLogSync(path: string): Promise<LogSync> {
  // For writing, or Windows would not sync it. No lock is on the log, so that closing drops none.
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
      // One that is running may have begun too early. The next serves everybody who waits by then.
      next ??= syncAfter(last);
      last = next;
      return last;
    },
    requireSound: () => {
      // A disk that lost something may report a later sync as good.
      if (failed !== undefined) throw failed;
    },
    close: async () => {
      await last.catch(() => undefined);
      await file.close();
    },
  };
}

const commitsApart = 50;
/** 40 MB. */
const longestLog_pages = 10_000;

/**
 * Carries the log over into the file after each fifty commits, in the thread of the long reads: it
 * syncs both, and would hold everybody up for as long. A log starts from its beginning only when
 * all of it was carried over. Where writers leave no gap, the engine does the rest at a commit once
 * the log is long, and only waits for what came since.
 */
export function createCheckpoints(runAside: (query: Query) => Promise<unknown>): () => void {
  let commits = 0;
  let isRunning = false;
  return () => {
    commits += 1;
    if (commits < commitsApart || isRunning) return;
    commits = 0;
    isRunning = true;
    void runAside({ sql: "PRAGMA wal_checkpoint(PASSIVE)", parameters: [] })
      // It is tried again after as many commits.
      .catch(() => undefined)
      .finally(() => (isRunning = false));
  };
}
