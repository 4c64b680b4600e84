import { CopyFault, type CopiedDatabase, type CopiedSum } from "./copied-database.ts";
import type { Claim } from "./fill-database.ts";
import { fillDatabases, type Take } from "./fill-databases.ts";
import { readSnapshots } from "./read-snapshots.ts";
import type { Snapshot } from "./snapshots.ts";

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
  const { databases, claim, undo } = copying;
  return fillDatabases(databases, {
    claim,
    complete: async () => {
      // To read back what was written may have taken as long as the copy.
      await copying.requireUnchanged();
      copying.complete();
    },
    undo,
    pour: (take) => pour(copying, take),
  });
}

async function pour(
  { snapshots, follow, signal, requireUnchanged }: Copying,
  take: Take,
): Promise<readonly CopiedSum[]> {
  const sums: CopiedSum[] = [];
  let all = 0;
  for await (const piece of readSnapshots(snapshots)) {
    if (piece.kind === "rows") {
      if (signal.aborted) throw new CopyFault("stopped");
      await take({ ...piece.place, rows: piece.rows });
      all += piece.rows.length;
      follow(all);
    } else if (piece.kind === "sum") {
      sums.push(piece.sum);
      await requireUnchanged();
    }
  }
  return sums;
}
