import { CopyFault } from "./copied-database.ts";
import type { Claim } from "./fill-database.ts";
import { fillDatabases } from "./fill-databases.ts";
import type { CopiedDatabase } from "./copied-database.ts";
import { readRows } from "./read-rows.ts";
import { createTableSum, writeRow } from "./row-digest.ts";
import type { Snapshot } from "./snapshots.ts";
import type { CopiedSum } from "./write-backup.ts";

type Copying = {
  readonly snapshots: readonly Snapshot[];
  /** Empty ones of the same names. */
  readonly databases: readonly CopiedDatabase[];
  readonly claim: Claim;
  readonly complete: () => void;
  readonly undo: () => void;
  /** Throws where somebody has written since the snapshots. */
  readonly requireUnchanged: () => Promise<void>;
  readonly follow: (rows: number) => void;
  readonly signal: AbortSignal;
};

/** Copies all rows from databases to others, of whichever engine. */
export function copyRows(copying: Copying): Promise<readonly CopiedSum[]> {
  const { snapshots, databases, claim, complete, undo } = copying;
  const levels = Object.fromEntries(
    snapshots.map(({ database: { name }, level }) => [name, level]),
  );
  return fillDatabases(databases, {
    claim,
    levels,
    complete,
    undo,
    pour: (take) => pour(copying, take),
  });
}

type Take = Parameters<Parameters<typeof fillDatabases>[1]["pour"]>[0];

async function pour(copying: Copying, take: Take): Promise<readonly CopiedSum[]> {
  const { snapshots, follow, signal, requireUnchanged } = copying;
  const sums: CopiedSum[] = [];
  let all = 0;
  for (const { database, db, tables } of snapshots) {
    for (const { table, columns } of tables) {
      const place = {
        database: database.name,
        table: table.name,
        columns: columns.map(({ name }) => name),
      };
      const sum = createTableSum();
      for await (const rows of readRows(db, table, place.columns)) {
        if (signal.aborted) throw new CopyFault("stopped");
        for (const row of rows) sum.add(writeRow(row));
        await take({ ...place, rows });
        all += rows.length;
        follow(all);
      }
      sums.push({ ...place, ...sum.read() });
      await requireUnchanged();
    }
  }
  return sums;
}
