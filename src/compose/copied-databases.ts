import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  databaseNames,
  type CopiedDatabase,
  type DatabaseName,
} from "../copies/copied-database.ts";
import type { CopiedTables } from "../sql/copied-tables.ts";
import { openPostgres } from "../sql/postgres.ts";
import { isHeld, openSqlite } from "../sql/sqlite.ts";
import type { Sql } from "../sql/sql.ts";
import { stateCopy } from "../state/copied-tables.ts";
import { applicationId as stateId } from "../state/state.ts";
import { storeCopy } from "../store/copied-tables.ts";
import { databaseFile, stateFile } from "./data-folder.ts";
import { applicationId as storeId } from "./embedded.ts";
import { readDatabaseUrl, type DataPlace } from "./secrets.ts";

/** The databases of a place, opened for a copy: no table is changed by that. */

export const copiedTables: Readonly<Record<DatabaseName, CopiedTables>> = {
  state: stateCopy,
  store: storeCopy,
};

const files = {
  state: { file: stateFile, applicationId: stateId },
  store: { file: databaseFile, applicationId: storeId },
} as const;

/** A gateway has no store, and a service that nobody has used through an assistant no state. */
export function listDatabases(place: DataPlace): readonly DatabaseName[] {
  if (readDatabaseUrl(place) !== undefined) return databaseNames;
  return databaseNames.filter((name) => existsSync(join(place.data, files[name].file)));
}

/**
 * Whether another process has a file of the place open. Of a database nobody knows whose its other
 * connections are: there, what is written meanwhile is noticed alone.
 */
export function isHeldElsewhere(place: DataPlace): boolean {
  if (readDatabaseUrl(place) !== undefined) return false;
  const paths = Object.values(files).map(({ file }) => join(place.data, file));
  return paths.some((path) => existsSync(path) && isHeld(path));
}

/** Opens them, and closes them when the work is over. */
export async function withDatabases<Result>(
  place: DataPlace,
  names: readonly DatabaseName[],
  work: (databases: readonly CopiedDatabase[]) => Promise<Result>,
): Promise<Result> {
  const url = readDatabaseUrl(place);
  const opened: Sql<unknown>[] = [];
  const open = async (name: DatabaseName) => {
    // Both are in the one that is named.
    const [shared] = url === undefined ? [] : opened;
    const sql =
      shared ?? (await (url === undefined ? openFile(place.data, name) : openPostgres(url)));
    if (shared === undefined) opened.push(sql);
    return { name, copied: copiedTables[name], sql };
  };
  try {
    const databases: CopiedDatabase[] = [];
    for (const name of names) databases.push(await open(name));
    return await work(databases);
  } finally {
    for (const { close } of opened) await close();
  }
}

function openFile(folder: string, name: DatabaseName): Promise<Sql<unknown>> {
  const { file, applicationId } = files[name];
  return openSqlite(join(folder, file), { applicationId });
}
