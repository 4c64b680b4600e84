import { existsSync } from "node:fs";
import { join } from "node:path";
import type { KnownDatabase } from "../sql/migrate.ts";
import { openSqlite } from "../sql/sqlite.ts";
import type { Sql } from "../sql/sql.ts";
import { stateDatabase } from "../state/schema.ts";
import { storeDatabase } from "../store/tables.ts";

/** The files of a data folder that backups and other copies contain. */

/**
 * The state is copied first, so that the store's copy has every record that the state refers to.
 */
export const knownDatabases: readonly KnownDatabase[] = [stateDatabase, storeDatabase];

/**
 * The owner's key and the gateway's token. They are copied, so that callers need no new secrets.
 */
export const keyFiles = ["owner.key", "http.token"] as const;

/** Lists the databases that exist in the folder. A gateway has no store. */
export function listDatabases(folder: string): readonly KnownDatabase[] {
  return knownDatabases.filter(({ file }) => existsSync(join(folder, file)));
}

/** Opens a database file, runs `work`, and closes the file. `checksAll` checks every page. */
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
