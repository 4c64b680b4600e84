import { takeUpTo, type CopiedTable, type CopiedTables } from "../sql/copied-tables.ts";
import { describeTables, type Column } from "../sql/describe-tables.ts";

/** A table as a copy of a database of this version has it. */
export type TablePlan = { readonly table: CopiedTable; readonly columns: readonly Column[] };

/** Those that a database has at this level of migrations; an earlier version had fewer. */
export async function planTables(
  copied: CopiedTables,
  level: number,
): Promise<readonly TablePlan[]> {
  const described = await describeTables(takeUpTo(copied.migrations.sqlite, level).list);
  return listTablesAt(copied, level).flatMap((table) => {
    const columns = described.get(table.name)?.filter(({ name }) => !isLeft(table, name));
    return columns === undefined ? [] : [{ table, columns }];
  });
}

/** All that are known, each with the key that it had at this level of migrations. */
export function listTablesAt({ tables }: CopiedTables, level: number): readonly CopiedTable[] {
  return tables.map(({ earlier, ...known }) => {
    const isEarlier = earlier !== undefined && level < earlier.below;
    return isEarlier ? { ...known, key: earlier.key } : known;
  });
}

function isLeft({ leaves = [] }: CopiedTable, column: string): boolean {
  return leaves.includes(column);
}
