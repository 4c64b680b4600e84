import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CopiedTables } from "../../sql/migrate.ts";
import { openSqlite } from "../../sql/sqlite.ts";
import type { Sql } from "../../sql/sql.ts";
import { stateCopy } from "../../state/schema.ts";
import { applicationId as stateId } from "../../state/state.ts";
import { storeCopy } from "../../store/tables.ts";
import { databaseFile, stateFile } from "../data/data-folder.ts";
import { applicationId as storeId } from "./embedded.ts";

/** One of Waypost's databases: a file of its own, or some tables of a PostgreSQL database. */
export type KnownDatabase = CopiedTables & {
  readonly file: string;
  readonly applicationId: number;
};

/** The state is copied first: what it refers to is in the store by then. */
export const knownDatabases: readonly KnownDatabase[] = [
  { file: stateFile, applicationId: stateId, ...stateCopy },
  { file: databaseFile, applicationId: storeId, ...storeCopy },
];

/** A gateway has no store, and a service that no assistant has used has no state. */
export function listDatabases(folder: string): readonly KnownDatabase[] {
  return knownDatabases.filter(({ file }) => existsSync(join(folder, file)));
}

/** Opens the file of a database with all checks, and closes it when the work is over. */
export async function withFile<Result>(
  folder: string,
  { file, applicationId }: KnownDatabase,
  work: (sql: Sql<unknown>) => Promise<Result>,
  checksAll?: boolean,
): Promise<Result> {
  const sql = await openSqlite<unknown>(join(folder, file), { applicationId, checksAll });
  try {
    return await work(sql);
  } finally {
    await sql.close();
  }
}
