import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { sql } from "kysely";
import { openDatabase } from "../sql/engine.ts";
import { isFull, isIoFault, StoreUnusable } from "../sql/faults.ts";
import { readKnown, type KnownDatabase } from "../sql/migrate.ts";
import { extractArchive, foreign, type ArchivedFile } from "./archive.ts";
import { CopyFault } from "./copy-fault.ts";
import { keyFiles, knownDatabases, listDatabases, withFile } from "./data-files.ts";
import type { EntryHeader } from "./ustar.ts";

/** Creates and extracts backups. A backup is one file with all data of a data folder. */

/**
 * Copies each database to `folder` in one transaction. Returns the paths of the copies and of the
 * key files. Key files are not copied.
 */
export async function copyDatabases(
  data: string,
  folder: string,
  signal: AbortSignal,
): Promise<readonly ArchivedFile[]> {
  const files: ArchivedFile[] = [];
  for (const known of listDatabases(data)) {
    const path = join(folder, known.file);
    const done = await withFile(data, known, async (store) => {
      const migrations = await readKnown(store, known.migrations);
      await sql`vacuum into ${path}`.execute(store.db);
      return migrations;
    });
    if (done.length > 0) emptyTables(path, known.left ?? []);
    files.push({ name: known.file, path });
    signal.throwIfAborted();
  }
  const keys = keyFiles.map((name) => ({ name, path: join(data, name) }));
  return [...files, ...keys.filter(({ path }) => existsSync(path))];
}

/** Deletes short-lived data, such as failed sign-ins, and overwrites its bytes in the file. */
function emptyTables(path: string, tables: readonly string[]): void {
  const database = openDatabase(path);
  database.exec("PRAGMA secure_delete = ON");
  for (const table of tables) database.exec(`DELETE FROM ${table}`);
  database.close();
}

const longestKey = 4096;
const largest = new Map<string, number>([
  ...knownDatabases.map(({ file }) => [file, Infinity] as const),
  ...keyFiles.map((name) => [name, longestKey] as const),
]);

/**
 * Extracts a backup to a folder. Throws if this version of Waypost cannot use one of its databases.
 */
export async function extractBackup(
  packed: Readable,
  folder: string,
  signal: AbortSignal,
): Promise<readonly EntryHeader[]> {
  const headers = await extractArchive(packed, folder, { largest, signal });
  const databases = listDatabases(folder);
  if (databases.length === 0) throw new CopyFault(foreign);
  for (const known of databases) await checkDatabase(folder, known);
  return headers;
}

/** Checks every page of a database, and whether this version can read its tables. */
async function checkDatabase(folder: string, known: KnownDatabase): Promise<void> {
  const requireVersion = (store: Parameters<typeof readKnown>[0]) =>
    readKnown(store, known.migrations).catch((error: unknown) => {
      throw explainUnusable(error, "another version of Waypost made it; use that version");
    });
  await withFile(folder, known, requireVersion, true).catch((error: unknown) => {
    throw explainUnusable(error, `its ${known.file} is damaged or not Waypost's`);
  });
}

function explainUnusable(error: unknown, message: string): unknown {
  if (!(error instanceof StoreUnusable)) return error;
  const isOfDisk = isFull(error.cause) || isIoFault(error.cause);
  return isOfDisk ? error.cause : new CopyFault(message, { cause: error });
}
