import { sql } from "kysely";
import { storeCopy } from "../../src/store/tables.ts";
import type { Store } from "../../src/store/store.ts";

const withProject = storeCopy.tables.filter(({ key }) => key.includes("project_id"));
/** A key is found before its project is known, and no copy takes visits that are soon over. */
const tables = [...withProject.map(({ name }) => name), "api_keys", "deferred_visits"];

/** All that the store has of a project but its own row, by the tables that have any of it. */
export async function readProjectRows(
  { db }: Pick<Store, "db">,
  projectId: string,
): Promise<ReadonlyMap<string, readonly unknown[]>> {
  const found = new Map<string, readonly unknown[]>();
  for (const table of tables) {
    const { rows } = await sql`
      select * from ${sql.table(table)} where project_id = ${projectId}
    `.execute(db);
    if (rows.length > 0) found.set(table, rows);
  }
  return found;
}
