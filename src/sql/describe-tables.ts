import { sql, type Kysely } from "kysely";
import { openDatabase } from "./engine.ts";
import type { Migration } from "./migrate.ts";
import { createStatementRunner } from "./run-statements.ts";
import { openKysely, readEngine } from "./open-kysely.ts";
import { inOwnSchema } from "./postgres-tables.ts";

/** The columns that migrations make, in the order of the tables' own. */

export type Column = {
  readonly name: string;
  readonly type: "text" | "number";
  readonly isRequired: boolean;
};

type Described = {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
};

/** Makes the tables in memory, for a migration may do anything, and looks at them. */
export async function describeTables(
  migrations: readonly Migration[],
): Promise<ReadonlyMap<string, readonly Column[]>> {
  const database = openDatabase(":memory:");
  try {
    const db = openKysely<unknown>("sqlite", createStatementRunner(() => database).run);
    for (const { up } of migrations) await up(db, "sqlite");
    const { rows } = await sql<Described>`
      select tables.name as "table", columns.name, lower(columns.type) as type, columns."notnull"
      from sqlite_schema as tables, pragma_table_info(tables.name) as columns
      where tables.type = 'table' and tables.name not like 'sqlite\\_%' escape '\\'
      order by tables.name, columns.cid
    `.execute(db);
    return groupColumns(rows);
  } finally {
    database.close();
  }
}

function groupColumns(rows: readonly Described[]): ReadonlyMap<string, readonly Column[]> {
  const tables = new Map<string, Column[]>();
  for (const { table, name, type, notnull } of rows) {
    const columns = tables.get(table) ?? [];
    tables.set(table, columns);
    columns.push({ name, type: type === "text" ? "text" : "number", isRequired: notnull === 1 });
  }
  return tables;
}

const selectNames = {
  sqlite: sql<{ name: string }>`select name from sqlite_schema where type = 'table'`,
  postgres: sql<{ name: string }>`
    select relname as name from pg_class
    where ${sql.raw(inOwnSchema)}
  `,
};

/** Those that are there, whatever made them. */
export async function listTables(db: Kysely<unknown>): Promise<readonly string[]> {
  const { rows } = await selectNames[readEngine(db)].execute(db);
  return rows.map(({ name }) => name);
}
