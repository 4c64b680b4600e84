import { realpathSync, statSync } from "node:fs";
import type { Kysely } from "kysely";
import { defineIsAwaited, openDatabase, type Database } from "./engine.ts";
import { ignoreFault, isBusy, isDamage, StoreBusy, StoreUnusable } from "./faults.ts";
import { retryWhileBusy } from "./busy-lock.ts";
import { createGroupCommit } from "./group-commit.ts";
import { createLongReads } from "./long-reads.ts";
import { openKysely } from "./open-kysely.ts";
import { damaged, makePrivateFile, refuseFault, refuseForeignFile } from "./sqlite-file.ts";
import { createCheckpoints, longestLog_pages, openLogSync } from "./sqlite-log.ts";
import { createStatementRunner } from "./run-statements.ts";
import type { Sql } from "./sql.ts";

type OpenOptions = {
  /** Four bytes in the file's header that say which program the file is of. */
  readonly applicationId: number;
  /** How much of the file each connection may keep in memory. */
  readonly cache_mb?: number;
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
  const readOn = (choose: () => Database) =>
    createStatementRunner(() => {
      // What a disk that fails has not kept must not be shown as kept.
      log.requireSound();
      return choose();
    });
  const db = openKysely<Tables>(readOn(() => (writer.isTransaction ? reader : writer)));
  // It reports only the commits of other connections, so it is always read on the same one.
  const readOther = readOn(() => reader);
  const writing = openKysely<Tables>(createStatementRunner(() => writer));
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
      const { rows } = await readOther({ sql: "PRAGMA data_version", parameters: [] });
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
    const result = await work(openKysely<unknown>(createStatementRunner(() => database)));
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
  refuseForeignFile(path, options.applicationId);
  makePrivateFile(path, options.applicationId);
  const writer = await openConnection(path, options);
  await refuseDamage(writer, path, options);
  const reader = await openConnection(path, options);
  const log = await openLogSync(realpathSync(path)).catch((error: unknown) => {
    for (const connection of [reader, writer]) ignoreFault(() => connection.close());
    throw refuseFault(path, error);
  });
  return { writer, reader, log };
}

async function openConnection(path: string, options: OpenOptions): Promise<Database> {
  const database = openDatabase(path);
  try {
    return await retryWhileBusy(() => prepareConnection(database, options));
  } catch (error) {
    ignoreFault(() => database.close());
    if (error instanceof StoreUnusable || error instanceof StoreBusy) throw error;
    throw refuseFault(path, error);
  }
}

const usualCache_mb = 64;
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
  ignoreFault(() => database.close());
  throw new StoreUnusable(damaged(path));
}

function prepareConnection(
  database: Database,
  { applicationId, cache_mb = usualCache_mb }: OpenOptions,
): Database {
  const [owner] = database.prepare("PRAGMA application_id").all();
  const wasEmpty = Object.values(owner ?? {})[0] === 0;
  if (wasEmpty) database.exec(`PRAGMA application_id = ${applicationId}`);
  database.exec("PRAGMA journal_mode = WAL");
  // `sqlite-log.ts` syncs each commit before a caller gets its answer.
  database.exec("PRAGMA synchronous = NORMAL");
  // `sqlite-log.ts` does nearly all of it before.
  database.exec(`PRAGMA wal_autocheckpoint = ${longestLog_pages}`);
  database.exec("PRAGMA foreign_keys = ON");
  database.exec(`PRAGMA cache_size = -${cache_mb * 1024}`);
  database.exec("PRAGMA temp_store = MEMORY");
  // In this thread nothing can come between: whoever asks is still there.
  defineIsAwaited(database, () => true);
  return database;
}
