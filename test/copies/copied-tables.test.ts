import { describe, expect, test } from "vitest";
import { copiedTables } from "../../src/compose/copied-databases.ts";
import { databaseNames } from "../../src/copies/copied-database.ts";
import { planTables } from "../../src/copies/table-plan.ts";
import { readLevel, takeUpTo } from "../../src/sql/copied-tables.ts";
import { describeTables } from "../../src/sql/describe-tables.ts";

/** A table that a migration adds is in every copy, or somebody has thought about it. */

describe.each(databaseNames)("the tables of the %s", (name) => {
  const { migrations, tables, left = [] } = copiedTables[name];

  test("are all copied, but for those of which it is said that they are left", async () => {
    const described = await describeTables(migrations.sqlite.list);
    const told = [...tables.map((table) => table.name), ...left];
    expect(told.toSorted()).toEqual([...described.keys()].toSorted());
  });

  test("are read by keys that they have at every level of migrations", async () => {
    const levels = migrations.sqlite.list.map((migration) => readLevel([migration.name]));
    for (const level of levels) {
      const described = await describeTables(takeUpTo(migrations.sqlite, level).list);
      for (const { table } of await planTables(copiedTables[name], level)) {
        const columns = described.get(table.name)?.map((column) => column.name);
        // SQLite has a number of its own for each row.
        const known = table.key.filter((column) => column !== "rowid");
        expect(columns, `${table.name} at ${level}`).toEqual(expect.arrayContaining(known));
      }
    }
  });

  test("leave nothing out but what an engine numbers, or what may be empty", async () => {
    const described = await describeTables(migrations.sqlite.list);
    for (const { name: table, leaves = [] } of tables) {
      const columns = described.get(table) ?? [];
      const left = columns.filter((column) => leaves.includes(column.name));
      expect(left.filter((column) => column.isRequired)).toEqual([]);
    }
  });
});
