import { sql, type Kysely } from "kysely";
import { readEngine } from "./open-kysely.ts";

/** Of pg_class, the tables in the schema where ours are made, whatever its name is. */
export const inOwnSchema =
  "relnamespace = to_regnamespace(quote_ident(current_schema())) and relkind in ('r', 'p')";

const selectNames = {
  sqlite: sql<{ name: string }>`select name from sqlite_schema where type = 'table'`,
  postgres: sql<{ name: string }>`
    select relname as name from pg_class
    where ${sql.raw(inOwnSchema)}
  `,
};

/** The names of all tables, including those that no migration made. */
export async function listTables<Tables>(db: Kysely<Tables>): Promise<readonly string[]> {
  const { rows } = await selectNames[readEngine(db)].execute(db);
  return rows.map(({ name }) => name);
}
