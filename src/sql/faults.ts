import { setTimeout } from "node:timers/promises";
import type { WriteSignal } from "./sql.ts";

/**
 * Defines the errors of SQLite and PostgreSQL databases, and retries while SQLite's lock is held.
 */

/**
 * Why a write failed. Nothing was written, and a later attempt may succeed. `busy`: another writer
 * holds SQLite's write lock. `locked`: another transaction has locked a table or row. `away`: the
 * database is unreachable or has no free connection.
 */
type BusyCause = "busy" | "locked" | "away";

/** The database could not be used. Nothing was written. */
export class StoreBusy extends Error {
  override readonly name = "StoreBusy";
  readonly outage: BusyCause;

  constructor(message: string, options: ErrorOptions & { readonly outage?: BusyCause } = {}) {
    super(message, options);
    this.outage = options.outage ?? "busy";
  }
}

/** The response to a commit was lost, so it is unknown whether the write succeeded. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/** The disk has failed and may lose committed data, so nothing more may be read or written. */
export class DiskFailed extends Error {
  override readonly name = "DiskFailed";
}

/** The database cannot be opened. The message is shown to the user who starts the process. */
export class StoreUnusable extends Error {
  override readonly name = "StoreUnusable";
}

type StoreOutage = BusyCause | "unknown";

/** Returns why the database is temporarily unavailable, or undefined for permanent errors. */
export function readOutage(error: unknown): StoreOutage | undefined {
  if (error instanceof OutcomeUnknown) return "unknown";
  // If an outage caused the error, a later attempt to open the database may succeed.
  if (error instanceof StoreUnusable) return readOutage(error.cause);
  return error instanceof StoreBusy ? error.outage : undefined;
}

/** Whether the operator must restore the file. Waiting or freeing disk space cannot help. */
export function isUnusable(error: unknown): boolean {
  const isUnopened = error instanceof StoreUnusable;
  return isUnopened && !isFull(error) && readOutage(error) === undefined;
}

/** The tables do not exist, and this caller may not create them. */
export class NotMigrated extends Error {
  override readonly name = "NotMigrated";
}

/** A write violated a unique constraint. */
export class Duplicate extends Error {
  override readonly name = "Duplicate";
  /** The constraint's columns, such as `links.path`. */
  readonly columns: readonly string[];

  constructor(columns: readonly string[], options: ErrorOptions) {
    super(`duplicate ${columns.join(", ")}`, options);
    this.columns = columns;
  }
}

const sqliteBusy = 5;
const sqliteIo = 10;
const sqliteFull = 13;
const sqliteDamage = new Set([11, 26]);
const sqliteUnique = new Set([1555, 2067]);
const postgresFull = "53100";

export function isBusy(error: unknown): boolean {
  return (readSqliteCode(error) ?? -1) % 256 === sqliteBusy;
}

/** Whether the disk is full, or the file has reached its size limit. Earlier writes are safe. */
export function isFull(error: unknown): boolean {
  // If the disk is full, even opening a file may fail.
  if (error instanceof StoreUnusable) return isFull(error.cause);
  if (error instanceof Error && "code" in error && error.code === postgresFull) return true;
  return (readSqliteCode(error) ?? -1) % 256 === sqliteFull;
}

/** Whether the disk, or the connection to it, has failed. */
export function isIoFault(error: unknown): boolean {
  return error instanceof DiskFailed || (readSqliteCode(error) ?? -1) % 256 === sqliteIo;
}

/** Whether a write may have been stored although it failed with this error. */
export function isInDoubt(error: unknown): boolean {
  return readOutage(error) === "unknown" || isIoFault(error);
}

/** Whether the file's content is not a valid database. */
export function isDamage(error: unknown): boolean {
  return sqliteDamage.has((readSqliteCode(error) ?? -1) % 256);
}

/** Converts a unique constraint violation to `Duplicate`. Returns other errors unchanged. */
export function translateFault(error: unknown): unknown {
  if (!(error instanceof Error) || !sqliteUnique.has(readSqliteCode(error) ?? -1)) return error;
  const [, columns = ""] = /UNIQUE constraint failed: (.*)$/.exec(error.message) ?? [];
  return new Duplicate(columns.split(", "), { cause: error });
}

/**
 * SQLite's error codes by message, because `@photostructure/sqlite` reports an error without its
 * code if it occurs while rows are read.
 */
const codesByMessage: readonly (readonly [string, number])[] = [
  ["database is locked", sqliteBusy],
  ["disk I/O error", sqliteIo],
  ["database or disk is full", sqliteFull],
  ["UNIQUE constraint failed", 2067],
  ["database disk image is malformed", 11],
  ["malformed database schema", 11],
  ["file is not a database", 26],
];

function readSqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("errcode" in error && typeof error.errcode === "number") return error.errcode;
  return codesByMessage.find(([message]) => error.message.startsWith(message))?.[1];
}

/**
 * Runs a clean-up step, such as closing, rolling back or merging the log, and ignores its errors.
 */
export function ignoreFault(work: () => void): void {
  try {
    work();
  } catch {
    // The step was already done, or another process will do it.
  }
}

export type WaitingClock = {
  readonly monotonic: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
};

export const realTime: WaitingClock = {
  monotonic: () => performance.now(),
  sleep: (milliseconds) => setTimeout(milliseconds),
};

export const longestPause_ms = 2;
const longestWait_ms = 5_000;

/**
 * Retries until SQLite's write lock is free, the caller stops waiting, or the time limit is
 * reached. The pauses are random, because SQLite has no queue for this lock and the driver must not
 * block the thread.
 */
export async function retryWhileBusy<Result>(
  attempt: () => Result | Promise<Result>,
  {
    signal,
    time = realTime,
  }: { readonly signal?: WriteSignal | undefined; readonly time?: WaitingClock } = {},
): Promise<Result> {
  const started = time.monotonic();
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (time.monotonic() - started > longestWait_ms) {
        throw new StoreBusy("the store is busy", { cause: error });
      }
    }
    await time.sleep(Math.random() * longestPause_ms);
    requireWaiting(signal);
  }
}

export function requireWaiting(signal: WriteSignal | undefined): void {
  if (signal?.hasLeft() === true) throw new StoreBusy("the caller stopped waiting");
}
