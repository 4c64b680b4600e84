import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { sql, type Kysely } from "kysely";
import { UsageFault } from "../../config.ts";
import {
  copyDatabase,
  countRows,
  findCopy,
  hasTables,
  limitLockWaits,
  stopWrites,
  type CopiedCount,
} from "../../copies/copy-database.ts";
import { keyFiles, knownDatabases, listDatabases, withFile } from "../../copies/data-files.ts";
import { describeDatabase } from "../../network/database-url.ts";
import { openPostgres } from "../../sql/postgres.ts";
import { connectionName } from "../../sql/postgres-pool.ts";
import { readMarks, type KnownDatabase } from "../../sql/migrate.ts";
import { readUnchanged } from "../../sql/sqlite-file.ts";
import { inUse, lockSqlite } from "../../sql/sqlite.ts";
import type { Sql } from "../../sql/sql.ts";
import { storeDatabase } from "../../store/tables.ts";
import { showHidden } from "../../text/show-hidden.ts";
import { findIncomplete } from "../data/data-folder.ts";
import { refuseOtherVersions } from "./embedded.ts";
import { fillDataFolder } from "../data/fill-data-folder.ts";
import { readDatabaseUrl, type DataLocation } from "../data/secrets.ts";

/** `waypost migrate` moves all rows to another place, while no process writes to either place. */

/** A database that no other process can write to. */
export type Source = { readonly known: KnownDatabase; readonly db: Kysely<unknown> };

type MoveWork<Result> = (sources: readonly Source[]) => Promise<Result>;

/**
 * Runs `work` while no other process can write to the source, then marks the source as moved. If
 * `work` fails or the process is killed, the source stays unchanged.
 */
export async function lockSource<Result>(
  place: DataLocation,
  target: string,
  work: MoveWork<Result>,
): Promise<Result> {
  const url = readDatabaseUrl(place);
  if (url !== undefined) return withPostgres(url, (store) => lockPostgres(store, target, work));
  refuseOtherVersions(place);
  const lockFiles = async (
    [known, ...others]: readonly KnownDatabase[],
    locked: readonly Source[],
  ): Promise<Result> => {
    if (known === undefined) return work(locked);
    return lockSqlite(join(place.data, known.file), known, async (db) => {
      if (!(await hasTables(db, known))) return lockFiles(others, locked);
      await stopWrites(db, [known], target);
      return lockFiles(others, [...locked, { known, db }]);
    });
  };
  return lockFiles(listDatabases(place.data), []);
}

async function lockPostgres<Result>(
  store: Sql<unknown>,
  target: string,
  work: MoveWork<Result>,
): Promise<Result> {
  const present: KnownDatabase[] = [];
  for (const known of knownDatabases) if (await hasTables(store.db, known)) present.push(known);
  if (present.length === 0) {
    throw new UsageFault("the database contains no Waypost data; check its address");
  }
  const [other] = await listProcesses(store.db);
  if (other !== undefined) throw refuseProcess(other);
  const lockAndWork = async (db: Kysely<unknown>) => {
    await stopWrites(db, present, target);
    // The rows are read in a transaction that starts after the lock, so it sees all earlier writes.
    const read = (db: Kysely<unknown>) => work(present.map((known) => ({ known, db })));
    return store.readLong(read, { signal: staying, line: "migrate" });
  };
  return store.write(lockAndWork, { isLong: true });
}

/** Never aborts, because the copy has its own signal for a user who stops the command. */
const staying = { hasLeft: () => false, onAbort: () => undefined };

type OpenProcess = { readonly host: string; readonly pid: number };

/**
 * Lists other processes that use a database. Ignores idle connections, which a pooler may keep
 * after their process ended. A running process is not idle: it queries the clock regularly
 * (`watch-clock.ts`).
 */
async function listProcesses(db: Kysely<unknown>): Promise<readonly OpenProcess[]> {
  const { rows } = await sql<OpenProcess>`
    select distinct split_part(application_name, ' ', 2)::integer as pid,
      split_part(application_name, ' ', 3) as host
    from pg_stat_activity
    where datname = current_database() and application_name ~ '^waypost [0-9]+ '
      and application_name <> left(${connectionName}, 63)
      and (state <> 'idle' or state_change > clock_timestamp() - interval '30 seconds')
  `.execute(db);
  return rows;
}

function refuseProcess({ host, pid }: OpenProcess): UsageFault {
  return new UsageFault(`${inUse} (${showHidden(host)}, process ${pid})`);
}

type CopySource = {
  readonly sources: readonly Source[];
  /** Where the data comes from. Its data folder contains the key files. */
  readonly from: DataLocation;
  readonly follow: (rows: number) => void;
  readonly signal: AbortSignal;
};

/** Copies everything into an empty folder or database, all or nothing. */
export async function fillTarget(
  place: DataLocation,
  filling: CopySource,
): Promise<readonly CopiedCount[]> {
  return (await findCopies(place, filling)) ?? fillEmpty(place, filling);
}

/** Returns the row counts of a complete copy, if an earlier run stopped after copying. */
async function findCopies(
  place: DataLocation,
  { sources, from }: CopySource,
): Promise<readonly CopiedCount[] | undefined> {
  const source = describePlace(from);
  const url = readDatabaseUrl(place);
  const isUnready = url === undefined && existsSync(findIncomplete(place.data));
  if (isUnready || source === describePlace(place)) return undefined;
  const counts: CopiedCount[] = [];
  for (const { known, db } of sources) {
    const { table } = known.migrations;
    const marks =
      url === undefined
        ? readFileMarks(join(place.data, known.file), table)
        : await withPostgres(url, (target) => readMarks(target.db, table));
    const found = await findCopy({ copied: known, source, from: db }, marks);
    if (found === undefined) return undefined;
    // The state's tables are not checked, because even commands that only read may change them.
    if (known.file === storeDatabase.file) {
      const check = (target: Sql<unknown>) => requireUnchanged(target, found);
      await (url === undefined ? withFile(place.data, known, check) : withPostgres(url, check));
    }
    counts.push(...found);
  }
  return counts.length === 0 ? undefined : counts;
}

/** Throws if rows were added to the target, or deleted from it, after the copy. */
async function requireUnchanged(target: Sql<unknown>, copied: readonly CopiedCount[]) {
  for (const { table, rows } of copied) {
    const now = await countRows(target.db, { name: table });
    if (now === rows) continue;
    throw new UsageFault(
      `Nothing was moved: an earlier run copied ${rows} rows of the table ${table}, but the copy ` +
        `now has ${now}. Use an empty folder or database, or start Waypost with the copy.`,
    );
  }
}

/** Returns an empty list if the file is missing or does not belong to Waypost. */
function readFileMarks(path: string, table: string): readonly string[] {
  try {
    return readUnchanged(path, "name", table);
  } catch {
    return [];
  }
}

async function fillEmpty(
  place: DataLocation,
  { sources, from, follow, signal }: CopySource,
): Promise<readonly CopiedCount[]> {
  const source = describePlace(from);
  const copyAll = async (all: readonly Source[], to: Kysely<unknown>) => {
    const counts: CopiedCount[] = [];
    await limitLockWaits(to);
    for (const { known, db } of all) {
      counts.push(...(await copyDatabase({ copied: known, source, from: db, to, follow, signal })));
    }
    return counts;
  };
  const fill = (all: readonly Source[]) => (target: Sql<unknown>) =>
    target.write((to) => copyAll(all, to), { isLong: true });
  const url = readDatabaseUrl(place);
  if (url === undefined) {
    const counts: CopiedCount[] = [];
    await fillDataFolder(place.data, async (folder) => {
      for (const source of sources) {
        counts.push(...(await withFile(folder, source.known, fill([source]))));
      }
      copyKeys(from.data, folder);
    });
    return counts;
  }
  return withPostgres(url, async (target) => {
    for (const known of knownDatabases) {
      if (await hasTables(target.db, known)) throw refuseTaken(url);
    }
    return fill(sources)(target);
  });
}

export function describePlace(place: DataLocation): string {
  const url = readDatabaseUrl(place);
  return url === undefined ? `sqlite:${resolve(place.data)}` : describeDatabase(url);
}

function refuseTaken(url: string): UsageFault {
  return new UsageFault(
    `Nothing was copied: the database ${describeDatabase(url)} already contains Waypost data. ` +
      "Use an empty database.",
  );
}

function copyKeys(from: string, to: string): void {
  for (const name of keyFiles.filter((file) => existsSync(join(from, file)))) {
    writeFileSync(join(to, name), readFileSync(join(from, name)), { mode: 0o600, flush: true });
  }
}

async function withPostgres<Result>(
  url: string,
  work: (store: Sql<unknown>) => Promise<Result>,
): Promise<Result> {
  const store = await openPostgres<unknown>(url);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
