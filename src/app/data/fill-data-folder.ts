import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { UsageFault } from "../../config.ts";
import { keyFiles, knownDatabases } from "../../copies/data-files.ts";
import { openDatabase } from "../../sql/engine.ts";
import { isBusy } from "../../sql/faults.ts";
import { quote } from "../../text/show-hidden.ts";
import { findIncomplete, listData, makeDataFolder } from "./data-folder.ts";
import { flushFolder } from "./whole-file.ts";

/** Fills an empty data folder with all files of a copy, or with none. */

const copiedFiles = [...knownDatabases.map(({ file }) => file), ...keyFiles];

/** A database that serves as a lock. SQLite unlocks it even if the process is killed. */
const lockFile = "lock.db";

/**
 * `fill` writes to a subfolder, and no process starts in the data folder while the subfolder
 * exists. The data folder may be a volume's root, so another folder cannot be renamed to it.
 */
export async function fillDataFolder(
  folder: string,
  fill: (incomplete: string) => Promise<void>,
): Promise<void> {
  const isNew = !existsSync(folder);
  makeDataFolder(folder);
  const incomplete = findIncomplete(folder);
  const [first] = existsSync(incomplete) ? [] : listData(folder);
  if (first !== undefined) {
    throw new UsageFault(
      `Nothing was copied: ${quote(folder, 200)} is not empty: it contains ${quote(first)}; ` +
        "choose an empty folder",
    );
  }
  mkdirSync(incomplete, { recursive: true, mode: 0o700 });
  const unlock = lock(join(incomplete, lockFile), folder);
  try {
    removeCopy(folder, incomplete);
    await fill(incomplete);
    requireMerged(incomplete);
    const made = copiedFiles.filter((name) => existsSync(join(incomplete, name)));
    for (const name of made) renameSync(join(incomplete, name), join(folder, name));
    await flushFolder(folder);
  } catch (error) {
    removeCopy(folder, incomplete);
    unlock();
    rmSync(incomplete, { recursive: true, force: true });
    if (isNew && readdirSync(folder).length === 0) rmdirSync(folder);
    throw error;
  }
  unlock();
  rmSync(incomplete, { recursive: true, force: true });
  await flushFolder(folder);
}

/**
 * Throws if a database's write-ahead log still contains rows, for example because the disk is full.
 * The log is not moved, so these rows would be lost.
 */
function requireMerged(incomplete: string): void {
  const logs = copiedFiles.map((name) => join(incomplete, `${name}-wal`));
  const sizes = logs.map((log) => statSync(log, { throwIfNoEntry: false })?.size ?? 0);
  if (Math.max(...sizes) === 0) return;
  const full = { code: "ENOSPC", syscall: "write" };
  throw Object.assign(new Error("a database's log could not be merged"), full);
}

/** Removes the files of an interrupted or failed copy. */
function removeCopy(folder: string, incomplete: string): void {
  for (const name of copiedFiles) rmSync(join(folder, name), { force: true });
  for (const name of readdirSync(incomplete)) {
    if (!name.startsWith(lockFile)) rmSync(join(incomplete, name), { force: true });
  }
}

function lock(path: string, folder: string): () => void {
  const database = openDatabase(path);
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    throw new UsageFault(`another process is copying to ${quote(folder, 200)}; wait until it ends`);
  }
  return () => database.close();
}
