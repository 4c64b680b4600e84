import { describe, expect, test } from "vitest";
import { copiedTables } from "../../src/compose/copied-databases.ts";
import { databaseNames } from "../../src/copies/copied-database.ts";
import { describeTables } from "../../src/copies/table-plan.ts";

/** A table that a migration adds is in every copy, or somebody has thought about it. */

describe.each(databaseNames)("the tables of the %s", (name) => {
  const { migrations, tables, left = [] } = copiedTables[name];

  test("are all copied, but for those of which it is said that they are left", async () => {
    const described = await describeTables(migrations.list);
    const told = [...tables.map((table) => table.name), ...left];
    expect(told.toSorted()).toEqual([...described.keys()].toSorted());
  });

  test("are read by keys that they have", async () => {
    const described = await describeTables(migrations.list);
    for (const { name: table, key } of tables) {
      const columns = described.get(table)?.map((column) => column.name);
      // SQLite has a number of its own for each row.
      const known = key.filter((column) => column !== "rowid");
      expect(columns, table).toEqual(expect.arrayContaining(known));
    }
  });

  test("leave nothing out but what an engine numbers, or what may be empty", async () => {
    const described = await describeTables(migrations.list);
    for (const { name: table, leaves = [] } of tables) {
      const columns = described.get(table) ?? [];
      const left = columns.filter((column) => leaves.includes(column.name));
      expect(left.filter((column) => column.isRequired)).toEqual([]);
    }
  });
});
