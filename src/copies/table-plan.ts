import { sql } from "kysely";
import type { CopiedTable, CopiedTables } from "../sql/copied-tables.ts";
import { openDatabase } from "../sql/engine.ts";
import type { Migration } from "../sql/migrate.ts";
import { openKysely } from "../sql/open-kysely.ts";
import { createStatementRunner } from "../sql/run-statements.ts";

/** A table as a copy of a database has it. */
export type TablePlan = { readonly table: CopiedTable; readonly columns: readonly Column[] };

export async function planTables(copied: CopiedTables): Promise<readonly TablePlan[]> {
  const described = await describeTables(copied.migrations.list);
  return copied.tables.map((table) => {
    const { name, leaves = [] } = table;
    const columns = described.get(name) ?? [];
    return { table, columns: columns.filter((column) => !leaves.includes(column.name)) };
  });
}

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
    const db = openKysely<unknown>(createStatementRunner(() => database).run);
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
