import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { knownDatabases } from "../../src/copies/data-files.ts";
import { openDatabase, createStatementRunner } from "../../src/sql/engine.ts";
import type { Migrations } from "../../src/sql/migrate.ts";
import { openKysely } from "../../src/sql/open-kysely.ts";

/** Every new table must be copied by `waypost migrate` or listed as left out. */

type Column = { readonly table: string; readonly name: string; readonly isRequired: number };

async function listColumns({ list }: Migrations) {
  const database = openDatabase(":memory:");
  const db = openKysely<unknown>(createStatementRunner(database));
  for (const { up } of list) await up(db, "sqlite");
  const { rows } = await sql<Column>`
    select tables.name as "table", columns.name, columns."notnull" as "isRequired"
    from sqlite_schema as tables, pragma_table_info(tables.name) as columns
    where tables.type = 'table' and tables.name not like 'sqlite\\_%' escape '\\'
  `.execute(db);
  const columns = new Map<string, readonly Column[]>();
  for (const row of rows) columns.set(row.table, [...(columns.get(row.table) ?? []), row]);
  return columns;
}

describe.each(knownDatabases)("the tables in $file", ({ migrations, tables, left = [] }) => {
  test("are all either copied or listed as excluded", async () => {
    const listed = [...tables.map(({ name }) => name), ...left];
    const columns = await listColumns(migrations);
    expect(listed.toSorted()).toEqual([...columns.keys()].toSorted());
  });

  test("have the columns that their sort keys refer to", async () => {
    const columns = await listColumns(migrations);
    for (const { name: table, key } of tables) {
      const names = columns.get(table)?.map(({ name }) => name);
      // SQLite has a row number of its own.
      const named = key.filter((column) => column !== "rowid");
      expect(names, table).toEqual(expect.arrayContaining(named));
    }
  });

  test("allow null in every column that is left out of copies", async () => {
    const columns = await listColumns(migrations);
    for (const { name: table, leaves = [] } of tables) {
      const left = (columns.get(table) ?? []).filter(({ name }) => leaves.includes(name));
      expect(left.filter(({ isRequired }) => isRequired === 1)).toEqual([]);
    }
  });
});
