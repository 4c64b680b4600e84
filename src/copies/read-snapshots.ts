import type { TablePlace } from "./copied-database.ts";
import type { RowsPiece, TablePiece } from "./read-backup.ts";
import { readRows } from "./read-rows.ts";
import { createTableSum, writeRow } from "./row-digest.ts";
import type { Snapshot } from "./snapshots.ts";

/** As a backup holds it; rows also as the texts that their digest was made of. */
type SnapshotPiece =
  Exclude<TablePiece, RowsPiece> | (RowsPiece & { readonly lines: readonly string[] });

/** All rows of all tables, table by table, each with what it comes to at its end. */
export async function* readSnapshots(
  snapshots: readonly Snapshot[],
): AsyncGenerator<SnapshotPiece> {
  for (const { database, db, tables } of snapshots) {
    for (const { table, columns } of tables) {
      const names = columns.map(({ name }) => name);
      const place: TablePlace = { database: database.name, table: table.name, columns: names };
      const sum = createTableSum();
      yield { kind: "table", place };
      for await (const rows of readRows(db, table, names)) {
        const lines = rows.map(writeRow);
        for (const line of lines) sum.add(line);
        yield { kind: "rows", place, rows, lines };
      }
      yield { kind: "sum", sum: { ...place, ...sum.read() } };
    }
  }
}
