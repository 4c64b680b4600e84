import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { openDatabase } from "./engine.ts";
import { isDamage, StoreUnusable } from "./faults.ts";

/** Creates SQLite files, and checks before opening an existing one that Waypost created it. */

/** Reads the file's header without SQLite, so that another program's file is never changed. */
export function refuseForeignFile(path: string, applicationId: number): void {
  if (!existsSync(path)) return;
  if (!statSync(path).isFile()) throw new StoreUnusable(notOurs(path));
  if (isEmptied(path)) return;
  const header = Buffer.alloc(100);
  const file = openReadable(path);
  readSync(file, header, 0, header.length, 0);
  closeSync(file);
  const isDatabase = header.toString("latin1", 0, 16) === "SQLite format 3\0";
  if (!isDatabase || header.readUInt32BE(68) !== applicationId) {
    throw new StoreUnusable(notOurs(path));
  }
}

/** Reads a text column without changing a byte of the file or its log. */
export function readUnchanged(path: string, column: string, source: string): readonly string[] {
  // Without a log file, the database is opened as immutable, because SQLite would create a log.
  const hasLog = existsSync(`${path}-wal`);
  const address = hasLog ? path : `${pathToFileURL(path).href}?immutable=1`;
  const database = openDatabase(address, { readOnly: true });
  const texts: string[] = [];
  database.function("note", (text) => texts.push(String(text)));
  try {
    // A prepared statement would keep the file open until the statement's memory is freed.
    database.exec(`select note(${column}) from ${source}`);
    return texts;
  } finally {
    database.close();
  }
}

function openReadable(path: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    throw new StoreUnusable(
      `${path} cannot be opened by this user; give it to the owner of its folder with ` +
        `chown --reference=${dirname(path)} ${path}`,
      { cause: error },
    );
  }
}

/**
 * Creates the file before SQLite does, so that its mode is private from the start. SQLite copies
 * the mode to the -wal and -shm files. The new file already contains Waypost's application ID, so
 * an empty file means that another program emptied it.
 */
export function makePrivateFile(path: string, applicationId: number): void {
  if (existsSync(path)) return;
  const draft = `${path}-${randomUUID()}`;
  closeSync(openSync(draft, "wx", 0o600));
  try {
    const database = openDatabase(draft);
    database.exec(`PRAGMA application_id = ${applicationId}`);
    database.close();
    moveIntoPlace(draft, path);
  } catch (error) {
    // Another process may have created the file first.
    if (!existsSync(path)) throw refuseFault(path, error);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Moves the finished file into place atomically. On file systems without hard links, copies it. */
function moveIntoPlace(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch {
    copyFileSync(draft, path, constants.COPYFILE_EXCL);
  }
}

export function isEmptied(path: string): boolean {
  return existsSync(path) && statSync(path).size === 0;
}

export function refuseFault(path: string, error: unknown): StoreUnusable {
  const fault = error instanceof Error ? error.message : "unknown error";
  const message = isDamage(error) ? damaged(path) : `${path} cannot be opened: ${fault}`;
  return new StoreUnusable(message, { cause: error });
}

const keepAdvice = "It was not changed. Restore it from a backup, or choose another data folder.";

function notOurs(path: string): string {
  return `${path} is not a Waypost database. ${keepAdvice}`;
}

export function damaged(path: string): string {
  return `${path} cannot be opened: it is damaged. ${keepAdvice}`;
}
