import { createHash } from "node:crypto";
import { backupFormat, type End, type FileLine, type Head } from "./backup-lines.ts";
import type { CopiedSum, TableSum } from "./copied-database.ts";
import { readSnapshots } from "./read-snapshots.ts";
import type { Snapshot } from "./snapshots.ts";

type Contents = {
  readonly version: string;
  readonly made_at: string;
  readonly files: readonly FileLine[];
  readonly snapshots: readonly Snapshot[];
  /** Told how many rows were written until now. */
  readonly follow: (rows: number) => void;
};

/** The lines of a backup, in pieces of text; answers what is in it. */
export async function* writeBackup(
  contents: Contents,
): AsyncGenerator<string, readonly CopiedSum[]> {
  const { version, made_at, files, snapshots, follow } = contents;
  const whole = createHash("sha256");
  const write = (lines: readonly string[]) => {
    const text = lines.map((line) => `${line}\n`).join("");
    whole.update(text);
    return text;
  };
  const databases = Object.fromEntries(
    snapshots.map(({ database: { name }, migrations }) => [name, migrations]),
  );
  const head: Head = { waypost_backup: backupFormat, version, made_at, databases };
  yield write([head, ...files].map((value) => JSON.stringify(value)));
  const sums: CopiedSum[] = [];
  let rows = 0;
  for await (const piece of readSnapshots(snapshots)) {
    if (piece.kind === "table") {
      yield write([JSON.stringify(piece.place)]);
    } else if (piece.kind === "rows") {
      yield write(piece.lines);
      rows += piece.rows.length;
      follow(rows);
    } else {
      const { rows: count, digest } = piece.sum;
      const told: TableSum = { rows: count, digest };
      yield write([JSON.stringify(told)]);
      sums.push(piece.sum);
    }
  }
  const end: End = { end: { rows, sha256: whole.digest("hex") } };
  yield `${JSON.stringify(end)}\n`;
  return sums;
}
