import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { UsageFault, type Config } from "../../config.ts";
import type { Clock, Random, SetAlarm } from "../../contract/clock.ts";
import { StoreUnusable } from "../../sql/faults.ts";
import { readKnown, refuseOtherVersion } from "../../sql/migrate.ts";
import { openPostgres } from "../../sql/postgres.ts";
import { isEmptied, refuseForeignFile } from "../../sql/sqlite-file.ts";
import type { Sql } from "../../sql/sql.ts";
import { openSqlite } from "../../sql/sqlite.ts";
import { stateDatabase, stateMigrations } from "../../state/schema.ts";
import { migrateState } from "../../state/state.ts";
import type { StateTables } from "../../state/tables.ts";
import { openStore, type Store } from "../../store/store.ts";
import { storeDatabase, type Tables } from "../../store/tables.ts";
import {
  checkDataFolder,
  findOwnerKeyFile,
  prepareDataFolder,
  requireTrustedOwner,
  hasDatabase,
  requireNotEmptied,
} from "../data/data-folder.ts";
import { prepareFirstStart } from "../data/first-start.ts";
import { readDatabaseUrl, type DataLocation } from "../data/secrets.ts";

/** The embedded store, which the first start creates. */
export type Embedded = {
  readonly store: Store;
  /** Undefined if the state is kept in a separate file. */
  readonly stateTables: Sql<StateTables> | undefined;
  readonly keyFile: string;
  readonly isFirstStart: boolean;
};

export const clock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };
export const setAlarm: SetAlarm = (milliseconds, ring) => {
  const timer = setTimeout(ring, milliseconds).unref();
  return () => clearTimeout(timer);
};
export const random: Random = { bytes: randomBytes };

export type EmbeddedOptions = {
  /** A missing store is an error, and an existing one is not changed. */
  readonly mustExist?: boolean | undefined;
  /** Checks the integrity of the whole file when opening it. The check may take long. */
  readonly checksAll?: boolean | undefined;
};

export async function openEmbedded(
  place: DataLocation,
  options: EmbeddedOptions = {},
): Promise<Embedded> {
  const { mustExist = false } = options;
  const { data } = place;
  if (mustExist) requireTrustedOwner(data);
  else prepareDataFolder(data);
  const sql = await openTables(place, options);
  const store = await openStore(sql, setAlarm, mustExist);
  // In PostgreSQL, the state's tables are in the store's database and share its connections.
  const own = sql as unknown as Sql<StateTables>;
  const stateTables = sql.engine === "postgres" ? own : undefined;
  const keyFile = findOwnerKeyFile(data);
  try {
    // The first start records in the state's tables which data folder contains the owner's key.
    if (stateTables !== undefined && !mustExist) await migrateState(stateTables);
    const starting = { store, stateTables, keyFile, given: { clock, random } };
    const isFirstStart = !mustExist && (await prepareFirstStart(starting));
    return { store, stateTables, keyFile, isFirstStart };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openTables(
  place: DataLocation,
  { checksAll }: EmbeddedOptions,
): Promise<Sql<Tables>> {
  const url = readDatabaseUrl(place);
  if (url !== undefined) {
    const sql = await openPostgres<Tables>(url);
    await readKnown(sql, stateMigrations).catch(async (error: unknown) => {
      await sql.close();
      throw error;
    });
    return sql;
  }
  requireNotEmptied(place.data);
  refuseOtherVersions(place);
  const { file, applicationId } = storeDatabase;
  return openSqlite(join(place.data, file), { applicationId, checksAll });
}

/** Throws if another version of Waypost wrote a file in the folder. Does not change the files. */
export function refuseOtherVersions({ data }: DataLocation): void {
  const files = [storeDatabase, stateDatabase].map(({ file, ...known }) => {
    return { path: join(data, file), ...known };
  });
  // Without a write-ahead log, the check is not needed: opening the file rejects other versions and
  // changes nothing.
  if (hasDatabase(data) && !files.some(({ path }) => existsSync(`${path}-wal`))) return;
  for (const { path, applicationId, migrations } of files) {
    if (!existsSync(path) || isEmptied(path)) continue;
    refuseForeignFile(path, applicationId);
    try {
      refuseOtherVersion(path, migrations);
    } catch (error) {
      // Other problems are reported when the file is opened.
      if (error instanceof StoreUnusable) throw error;
    }
  }
}

/** For commands that work only with the embedded store. */
export function requireOwn({ base_url }: Pick<Config, "base_url">): void {
  if (base_url === undefined) return;
  throw new UsageFault(
    "this command cannot be used with a remote server (--base-url, WAYPOST_BASE_URL); run it on " +
      "that server, or unset the address to use the embedded database",
  );
}

export function requireData(place: DataLocation): void {
  const { data } = place;
  if (readDatabaseUrl(place) !== undefined || hasDatabase(data)) return;
  checkDataFolder(data);
  throw new UsageFault(`the folder ${data} has no Waypost data; choose another with --data`);
}
