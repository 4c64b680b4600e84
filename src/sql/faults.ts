import { setTimeout } from "node:timers/promises";
import type { WriteSignal } from "./sql.ts";

/**
 * Database errors, translated so that both engines throw the same ones, and retries while SQLite's
 * lock is held.
 */

/**
 * The reason why a write failed without any effect. A later attempt may succeed. `busy`: another
 * writer holds the database. `locked`: another transaction has locked a table or row. `away`: the
 * database is unreachable or has no free connection.
 */
type BusyCause = "busy" | "locked" | "away";

/** The database could not be used, and nothing was written. */
export class StoreBusy extends Error {
  override readonly name = "StoreBusy";
  readonly outage: BusyCause;

  constructor(message: string, options: ErrorOptions & { readonly outage?: BusyCause } = {}) {
    super(message, options);
    this.outage = options.outage ?? "busy";
  }
}

/** The reply to a commit was lost, so it is unknown whether the write happened. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/** A failed disk may lose committed data. Nothing may be read or written after this error. */
export class DiskFailed extends Error {
  override readonly name = "DiskFailed";
}

/** The database cannot be opened. The message is for the person who starts the process. */
export class StoreUnusable extends Error {
  override readonly name = "StoreUnusable";
}

type StoreOutage = BusyCause | "unknown";

/**
 * Returns why a database cannot answer now but may later. Returns undefined for all other errors.
 * All reports of outages to users depend on this function.
 */
export function readOutage(error: unknown): StoreOutage | undefined {
  if (error instanceof OutcomeUnknown) return "unknown";
  // A database that could not be opened during an outage can be opened afterwards.
  if (error instanceof StoreUnusable) return readOutage(error.cause);
  return error instanceof StoreBusy ? error.outage : undefined;
}

/** Checks for a file that the operator must restore. Waiting or free disk space would not help. */
export function isUnusable(error: unknown): boolean {
  const isUnopened = error instanceof StoreUnusable;
  return isUnopened && !isFull(error) && readOutage(error) === undefined;
}

/** The tables do not exist yet, and the caller must not create them. */
export class NotMigrated extends Error {
  override readonly name = "NotMigrated";
}

/** A write violated a unique constraint. */
export class Duplicate extends Error {
  override readonly name = "Duplicate";
  /** The constraint's columns, as "table.column". */
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

/** Checks whether the disk is full or a file limit was reached. Earlier writes are safe. */
export function isFull(error: unknown): boolean {
  // With a full disk, a file cannot even be opened.
  if (error instanceof StoreUnusable) return isFull(error.cause);
  if (error instanceof Error && "code" in error && error.code === postgresFull) return true;
  return (readSqliteCode(error) ?? -1) % 256 === sqliteFull;
}

/** Checks whether the disk or the connection to the disk failed. */
export function isIoFault(error: unknown): boolean {
  return error instanceof DiskFailed || (readSqliteCode(error) ?? -1) % 256 === sqliteIo;
}

/** Checks whether a write that failed with this error may still have been stored. */
export function isInDoubt(error: unknown): boolean {
  return readOutage(error) === "unknown" || isIoFault(error);
}

/** Checks whether the file's content is not a valid database. */
export function isDamage(error: unknown): boolean {
  return sqliteDamage.has((readSqliteCode(error) ?? -1) % 256);
}

/** Converts a violated unique constraint to `Duplicate`. Other errors stay unchanged. */
export function translateFault(error: unknown): unknown {
  if (!(error instanceof Error) || !sqliteUnique.has(readSqliteCode(error) ?? -1)) return error;
  const [, columns = ""] = /UNIQUE constraint failed: (.*)$/.exec(error.message) ?? [];
  return new Duplicate(columns.split(", "), { cause: error });
}

/** SQLite's error codes by message. `@photostructure/sqlite` omits the code while reading rows. */
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

/** Ignores an error from closing, rolling back or merging the log. */
export function ignoreFault(work: () => void): void {
  try {
    work();
  } catch {
    // This step was already done, or another process will do it.
  }
}

/** The clock, which tests can replace. */
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
 * Repeats the attempt until SQLite's write lock is free, the caller has left, or the time limit is
 * reached. SQLite has no queue for this lock, and the driver must not block the thread. So writers
 * wait here, each for a random time.
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
