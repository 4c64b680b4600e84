import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql, type Kysely } from "kysely";
import { UsageFault } from "../config.ts";
import { copyDatabase, hasTables, type CopiedCount } from "../copies/copy-database.ts";
import { limitLockWaits, stopWrites } from "../copies/stop-writes.ts";
import { describeDatabase } from "../network/database-url.ts";
import { openPostgres } from "../sql/postgres.ts";
import { connectionName } from "../sql/postgres-pool.ts";
import { inUse, lockSqlite } from "../sql/sqlite.ts";
import type { Sql } from "../sql/sql.ts";
import { showHidden } from "../text/show-hidden.ts";
import { knownDatabases, listDatabases, withFile, type KnownDatabase } from "./copied-databases.ts";
import { keptFiles } from "./data-folder.ts";
import { fillDataFolder } from "./fill-data-folder.ts";
import { readDatabaseUrl, type DataPlace } from "./secrets.ts";

/** `waypost migrate`: all rows from one place into another, while no process writes to either. */

/** A database that no other process can write to. */
export type Source = { readonly known: KnownDatabase; readonly db: Kysely<unknown> };

type Work<Result> = (sources: readonly Source[]) => Promise<Result>;

/**
 * Runs `work` while no other process can write to the data of a place, and marks the data as moved
 * to the target. If `work` fails or the process is killed, everything is as before.
 */
export async function lockSource<Result>(
  place: DataPlace,
  target: string,
  work: Work<Result>,
): Promise<Result> {
  const url = readDatabaseUrl(place);
  if (url !== undefined) return withPostgres(url, (store) => lockPostgres(store, target, work));
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
  work: Work<Result>,
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
    // A transaction that begins with the locks taken sees all that was written before.
    const read = (db: Kysely<unknown>) => work(present.map((known) => ({ known, db })));
    return store.readLong(read, { signal: staying, line: "migrate" });
  };
  return store.write(lockAndWork, { isLong: true });
}

/** The copy itself notices when the person stops it. */
const staying = { hasLeft: () => false, onAbort: () => undefined };

type OpenProcess = { readonly host: string; readonly pid: number };

/**
 * Other processes that use a database. A pooler keeps a connection of a process that has ended, but
 * nothing happens in it; each process looks at the clock (`watch-clock.ts`) more often.
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

type Filling = {
  readonly sources: readonly Source[];
  /** The folder with the keys of the sources. */
  readonly keys: string;
  readonly follow: (rows: number) => void;
  readonly signal: AbortSignal;
};

/** Puts everything into an empty folder or database, or nothing. */
export async function fillTarget(
  place: DataPlace,
  { sources, keys, follow, signal }: Filling,
): Promise<readonly CopiedCount[]> {
  const copyAll = async (all: readonly Source[], to: Kysely<unknown>) => {
    const counts: CopiedCount[] = [];
    await limitLockWaits(to);
    for (const { known, db } of all) {
      counts.push(...(await copyDatabase({ copied: known, from: db, to, follow, signal })));
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
      copyKeys(keys, folder);
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

function refuseTaken(url: string): UsageFault {
  return new UsageFault(
    `Nothing was copied: the database ${describeDatabase(url)} already contains Waypost data. ` +
      "Use an empty database.",
  );
}

function copyKeys(from: string, to: string): void {
  for (const name of keptFiles.filter((file) => existsSync(join(from, file)))) {
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
