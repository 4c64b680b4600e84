import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { openDatabase } from "./engine.ts";
import { isDamage, StoreUnusable } from "./faults.ts";

/** A SQLite file before it is opened: made, or looked at, so that nothing else is taken for it. */

/** Reads the bytes before SQLite does, so that nothing is written into a file that is not ours. */
export function refuseForeignFile(path: string, applicationId: number): void {
  if (!existsSync(path)) return;
  const { size } = statSync(path);
  if (!statSync(path).isFile()) throw new StoreUnusable(notOurs(path));
  if (size === 0) return;
  const header = Buffer.alloc(100);
  const file = openSync(path, "r");
  const length = readSync(file, header, 0, header.length, 0);
  closeSync(file);
  if (length < header.length || header.toString("latin1", 0, 16) !== "SQLite format 3\0") {
    throw new StoreUnusable(notOurs(path));
  }
  if (header.readUInt32BE(68) !== applicationId) throw new StoreUnusable(notOurs(path));
  // A file that ends before its last page was cut off; a log beside it may hold what is missing.
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const isCountValid = header.readUInt32BE(24) === header.readUInt32BE(92);
  if (!hasLog(path) && isCountValid && header.readUInt32BE(28) * pageSize > size) {
    throw new StoreUnusable(`${path} is damaged: the file is cut off. ${keepAdvice}`);
  }
}

export function hasLog(path: string): boolean {
  if (!existsSync(path)) return false;
  const log = `${realpathSync(path)}-wal`;
  return existsSync(log) && statSync(log).size > 0;
}

/**
 * Made by us, so that it is private from its first moment; SQLite gives its mode to -wal and -shm.
 * It appears with our mark in it: one that is empty was emptied by something else.
 */
export function makePrivateFile(path: string, applicationId: number): void {
  if (existsSync(path) && !existsSync(nameMaking(path))) return;
  const draft = `${path}-${randomUUID()}`;
  closeSync(openSync(draft, "wx", 0o600));
  try {
    writeMark(draft, path, applicationId);
    linkSync(draft, path);
  } catch (error) {
    if (error instanceof StoreUnusable) throw error;
    // Another process was quicker, or it is a link to a file that is to be made, or there are none.
    makeInSteps(path, applicationId);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Whether something else has emptied it: one that is only being made goes on being made. */
export function isEmptied(path: string): boolean {
  const isEmpty = () => existsSync(path) && statSync(path).size === 0;
  // Another process may have ended making it between two looks.
  return isEmpty() && !existsSync(nameMaking(path)) && isEmpty();
}

/** What tells that the file beside it is being made, or was when a process ended. */
function nameMaking(path: string): string {
  return `${path}-making`;
}

/**
 * Where nothing appears with something in it. Never once a connection is open: closing any
 * descriptor of a file drops all the locks that the process holds on it, and then another program
 * may take the log away while we write to it.
 */
function makeInSteps(path: string, applicationId: number): void {
  const making = nameMaking(path);
  closeSync(openSync(making, "a", 0o600));
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
  if (statSync(path).size === 0) writeMark(path, path, applicationId);
  rmSync(making, { force: true });
}

/** It is on the disk then: a log beside an empty file would be thrown away after a power cut. */
function writeMark(draft: string, path: string, applicationId: number): void {
  const database = openDatabase(draft);
  try {
    // Whoever else makes it is soon done.
    database.exec(`PRAGMA busy_timeout = 5000; PRAGMA application_id = ${applicationId}`);
  } catch (error) {
    throw refuseFault(path, error);
  } finally {
    database.close();
  }
}

export function refuseFault(path: string, error: unknown): StoreUnusable {
  const fault = error instanceof Error ? error.message : "unknown error";
  const message = isDamage(error) ? damaged(path) : `${path} cannot be opened: ${fault}`;
  return new StoreUnusable(message, { cause: error });
}

const keepAdvice = "It was not changed. Restore it from a backup, or choose another data folder.";

export function notOurs(path: string): string {
  return `${path} is not a Waypost database. ${keepAdvice}`;
}

export function damaged(path: string): string {
  return `${path} cannot be opened: it is damaged. ${keepAdvice}`;
}
