import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  databaseNames,
  type CopiedDatabase,
  type DatabaseName,
} from "../copies/copied-database.ts";
import type { CopiedTables } from "../sql/copied-tables.ts";
import { openSqlite } from "../sql/sqlite.ts";
import { stateCopy } from "../state/copied-tables.ts";
import { applicationId as stateId } from "../state/state.ts";
import { storeCopy } from "../store/copied-tables.ts";
import { UsageFault } from "../config.ts";
import { databaseFile, stateFile } from "./data-folder.ts";
import { applicationId as storeId } from "./embedded.ts";
import { readDatabaseUrl, type DataPlace } from "./secrets.ts";

/** The databases of a data folder, opened for a copy: no table is changed by that. */

export const copiedTables: Readonly<Record<DatabaseName, CopiedTables>> = {
  state: stateCopy,
  store: storeCopy,
};

const files = {
  state: { file: stateFile, applicationId: stateId },
  store: { file: databaseFile, applicationId: storeId },
} as const;

/** Throws where the store is not in the folder, which no copy is made of yet. */
export function requireOwnFolder(place: DataPlace): void {
  if (readDatabaseUrl(place) === undefined) return;
  throw new UsageFault("a copy of PostgreSQL is not supported by this version; use pg_dump");
}

/** A gateway has no store, and a service that nobody has used through an assistant no state. */
export function listDatabases(folder: string): readonly DatabaseName[] {
  return databaseNames.filter((name) => existsSync(join(folder, files[name].file)));
}

/** Opens them, and closes them when the work is over. */
export async function withDatabases<Result>(
  folder: string,
  names: readonly DatabaseName[],
  work: (databases: readonly CopiedDatabase[]) => Promise<Result>,
): Promise<Result> {
  const databases: CopiedDatabase[] = [];
  try {
    for (const name of names) {
      const { file, applicationId } = files[name];
      const sql = await openSqlite<unknown>(join(folder, file), { applicationId });
      databases.push({ name, copied: copiedTables[name], sql });
    }
    return await work(databases);
  } finally {
    for (const { sql } of databases) await sql.close();
  }
}
