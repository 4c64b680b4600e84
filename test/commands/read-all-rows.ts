import { existsSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { knownDatabases } from "../../src/copies/data-files.ts";
import { openDatabase } from "../../src/sql/engine.ts";
import { createEmptyFolder } from "../support/folders.ts";
import { query } from "../support/postgres.ts";

/** Reads all rows that `waypost migrate` copies, by table, without columns it leaves out. */
export type AllRows = Readonly<Record<string, readonly string[]>>;

type Cells = Readonly<Record<string, unknown>>;

type TableReader = (table: string) => Promise<readonly Cells[]>;

/** Reads copies of the files, as a connection of this process may stay open for a while. */
export async function readFolder(data: string): Promise<AllRows> {
  const all: Record<string, readonly string[]> = {};
  await using copies = await createEmptyFolder();
  for (const known of knownDatabases) {
    for (const file of [known.file, `${known.file}-wal`]) {
      if (existsSync(join(data, file))) await copyFile(join(data, file), join(copies.path, file));
    }
    if (!existsSync(join(copies.path, known.file))) continue;
    const database = openDatabase(join(copies.path, known.file));
    const read: TableReader = async (table) =>
      database.prepare(`select * from ${table}`).all() as readonly Cells[];
    Object.assign(all, await readTables(known, read));
    database.close();
  }
  return all;
}

export async function readDatabase(url: string): Promise<AllRows> {
  const all: Record<string, readonly string[]> = {};
  const read: TableReader = (table) => query(url, `select * from ${table}`);
  for (const known of knownDatabases) Object.assign(all, await readTables(known, read));
  return all;
}

async function readTables({ tables }: (typeof knownDatabases)[number], read: TableReader) {
  const all: Record<string, readonly string[]> = {};
  for (const { name, leaves = [] } of tables) {
    const rows = await read(name);
    const columns = Object.keys(rows[0] ?? {}).toSorted();
    const copied = columns.filter((column) => !leaves.includes(column));
    all[name] = rows.map((row) => writeRow(row, copied)).toSorted();
  }
  return all;
}

function writeRow(row: Cells, columns: readonly string[]): string {
  return columns.map((column) => `${column}: ${writeCell(row[column])}`).join(", ");
}

/** The PostgreSQL driver reads a bigint as text. */
function writeCell(cell: unknown): string {
  return JSON.stringify(typeof cell === "number" || typeof cell === "bigint" ? `${cell}` : cell);
}
