import type { Checked } from "./check-backup.ts";
import { CopyFault, type CopiedDatabase, type CopiedSum } from "./copied-database.ts";
import type { Claim } from "./fill-database.ts";
import { fillDatabases } from "./fill-databases.ts";
import { readBackup } from "./read-backup.ts";

type Restoring = {
  /** Of the databases that the backup has. */
  readonly databases: readonly CopiedDatabase[];
  readonly checked: Checked;
  /** The file once more, from its beginning. */
  readonly chunks: AsyncIterable<Buffer>;
  readonly claim: Claim;
  readonly complete: () => void;
  readonly undo: () => void;
  readonly follow: (rows: number) => void;
  readonly signal: AbortSignal;
};

/** Puts a backup that was read to its end into empty databases. */
export function restoreBackup(restoring: Restoring): Promise<readonly CopiedSum[]> {
  const { databases, checked, chunks, claim, follow, signal } = restoring;
  return fillDatabases(databases, {
    claim,
    pour: async (take) => {
      let rows = 0;
      for await (const piece of readBackup(chunks)) {
        signal.throwIfAborted();
        const isOther = piece.kind === "head" && !isSame(piece.head, checked.head);
        if (isOther) throw new CopyFault(changed);
        if (piece.kind === "sum" && !checked.sums.some((sum) => isSame(sum, piece.sum))) {
          throw new CopyFault(changed);
        }
        if (piece.kind !== "rows") continue;
        await take({ ...piece.place, rows: piece.rows });
        rows += piece.rows.length;
        follow(rows);
      }
      return checked.sums;
    },
    complete: async () => restoring.complete(),
    undo: restoring.undo,
  });
}

const changed = "another process changed it during the restore";

function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
