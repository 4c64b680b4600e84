import { createHash } from "node:crypto";
import {
  backupFormat,
  type End,
  type FileLine,
  type Head,
  type TableHead,
} from "./backup-lines.ts";
import type { DatabaseName, TableSum } from "./copied-database.ts";
import { readRows } from "./read-rows.ts";
import { createTableSum, writeRow } from "./row-digest.ts";
import type { Snapshot } from "./snapshots.ts";

/** What a copy has of a table. */
export type CopiedSum = TableSum & {
  readonly database: DatabaseName;
  readonly table: string;
  readonly columns: readonly string[];
};

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
    snapshots.map(({ database: { name }, level }) => [name, level]),
  );
  const head: Head = { waypost_backup: backupFormat, version, made_at, databases };
  yield write([head, ...files].map((value) => JSON.stringify(value)));
  const sums: CopiedSum[] = [];
  let rows = 0;
  for (const { database, db, tables } of snapshots) {
    for (const { table, columns } of tables) {
      const names = columns.map(({ name }) => name);
      const tableHead: TableHead = { database: database.name, table: table.name, columns: names };
      yield write([JSON.stringify(tableHead)]);
      const sum = createTableSum();
      for await (const page of readRows(db, table, names)) {
        const lines = page.map(writeRow);
        for (const line of lines) sum.add(line);
        yield write(lines);
        rows += page.length;
        follow(rows);
      }
      yield write([JSON.stringify(sum.read())]);
      sums.push({ ...tableHead, ...sum.read() });
    }
  }
  const end: End = { end: { rows, sha256: whole.digest("hex") } };
  yield `${JSON.stringify(end)}\n`;
  return sums;
}
