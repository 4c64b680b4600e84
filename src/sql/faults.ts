/** What an engine's errors mean to the rooms that use a store, whichever engine it is. */

/**
 * Why nothing was written now and a later try may work: another writer holds the store (`busy`),
 * another transaction has locked a table or row (`locked`), or the store cannot be reached or has
 * no room (`away`).
 */
type Cause = "busy" | "locked" | "away";

/** Nothing was written. */
export class StoreBusy extends Error {
  override readonly name = "StoreBusy";
  readonly outage: Cause;

  constructor(message: string, options: ErrorOptions & { readonly outage?: Cause } = {}) {
    super(message, options);
    this.outage = options.outage ?? "busy";
  }
}

/** The answer to a commit was lost: the write may have happened, and nothing can tell. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/** What was committed may be lost: nobody reads it, and takes it for kept, nor writes after it. */
export class DiskFailed extends Error {
  override readonly name = "DiskFailed";
}

/** The store cannot be opened; the message is for the person who starts the process. */
export class StoreUnusable extends Error {
  override readonly name = "StoreUnusable";
}

type Outage = Cause | "unknown";

/**
 * Why a store gives no answer that it may give later. Undefined for any other error. Everything
 * that reports an outage to a user asks here.
 */
export function readOutage(error: unknown): Outage | undefined {
  if (error instanceof OutcomeUnknown) return "unknown";
  // What cannot be opened while it is away can be opened later.
  if (error instanceof StoreUnusable) return readOutage(error.cause);
  return error instanceof StoreBusy ? error.outage : undefined;
}

/** Neither waiting nor free space helps: the operator has to restore the file. */
export function isUnusable(error: unknown): boolean {
  const isUnopened = error instanceof StoreUnusable;
  return isUnopened && !isFull(error) && readOutage(error) === undefined;
}

/** The tables do not exist yet, and the caller may change nothing. */
export class NotMigrated extends Error {
  override readonly name = "NotMigrated";
}

/** A write broke a unique constraint of this table. */
export class Duplicate extends Error {
  override readonly name = "Duplicate";
  /** "table.column" of the constraint's columns. */
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

/** The disk is full or a file limit is met: what was written before stays. */
export function isFull(error: unknown): boolean {
  // A file cannot even be opened then.
  if (error instanceof StoreUnusable) return isFull(error.cause);
  if (error instanceof Error && "code" in error && error.code === postgresFull) return true;
  return (readSqliteCode(error) ?? -1) % 256 === sqliteFull;
}

/** The disk or the way to it fails. */
export function isIoFault(error: unknown): boolean {
  return error instanceof DiskFailed || (readSqliteCode(error) ?? -1) % 256 === sqliteIo;
}

/** Whether a write that failed so may be kept all the same. */
export function isInDoubt(error: unknown): boolean {
  return readOutage(error) === "unknown" || isIoFault(error);
}

/** The bytes are not, or no longer, a database. */
export function isDamage(error: unknown): boolean {
  return sqliteDamage.has((readSqliteCode(error) ?? -1) % 256);
}

/** Turns a broken unique constraint into `Duplicate`; everything else stays what it is. */
export function translateFault(error: unknown): unknown {
  if (!(error instanceof Error) || !sqliteUnique.has(readSqliteCode(error) ?? -1)) return error;
  const [, columns = ""] = /UNIQUE constraint failed: (.*)$/.exec(error.message) ?? [];
  return new Duplicate(columns.split(", "), { cause: error });
}

/** `@photostructure/sqlite` leaves the code out when rows are read; SQLite's words are the same. */
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

/** For what may have happened already: closing, rolling back, merging the log. */
export function ignoreFault(work: () => void): void {
  try {
    work();
  } catch {
    // It is as it was to be, or another process does it.
  }
}
