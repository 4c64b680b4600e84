/** Errors of databases, the same for both engines, and what they mean to callers. */

/**
 * Why nothing was written, although a later try may work. `busy`: another writer holds the
 * database. `locked`: another transaction has locked a table or row. `away`: the database is
 * unreachable or has no free connection.
 */
type BusyCause = "busy" | "locked" | "away";

/** Nothing was written. */
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

/** A failed disk may lose what was committed. Nothing may be read or written after this. */
export class DiskFailed extends Error {
  override readonly name = "DiskFailed";
}

/** The database cannot be opened. The message is for the person who starts the process. */
export class StoreUnusable extends Error {
  override readonly name = "StoreUnusable";
}

type StoreOutage = BusyCause | "unknown";

/**
 * Why a database cannot answer now but may later. Undefined for other errors. All reports of
 * outages to users depend on this.
 */
export function readOutage(error: unknown): StoreOutage | undefined {
  if (error instanceof OutcomeUnknown) return "unknown";
  // A database that cannot be opened during an outage can be opened later.
  if (error instanceof StoreUnusable) return readOutage(error.cause);
  return error instanceof StoreBusy ? error.outage : undefined;
}

/** Neither waiting nor free disk space helps: the operator must restore the file. */
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

/** Whether the disk is full or a file limit was reached. Earlier writes are kept. */
export function isFull(error: unknown): boolean {
  // With a full disk, a file cannot even be opened.
  if (error instanceof StoreUnusable) return isFull(error.cause);
  if (error instanceof Error && "code" in error && error.code === postgresFull) return true;
  return (readSqliteCode(error) ?? -1) % 256 === sqliteFull;
}

/** Whether the disk or the connection to it failed. */
export function isIoFault(error: unknown): boolean {
  return error instanceof DiskFailed || (readSqliteCode(error) ?? -1) % 256 === sqliteIo;
}

/** Whether a write that failed with this error may have been kept. */
export function isInDoubt(error: unknown): boolean {
  return readOutage(error) === "unknown" || isIoFault(error);
}

/** Whether the file's content is not a valid database. */
export function isDamage(error: unknown): boolean {
  return sqliteDamage.has((readSqliteCode(error) ?? -1) % 256);
}

/** Turns a violated unique constraint into `Duplicate`; other errors stay. */
export function translateFault(error: unknown): unknown {
  if (!(error instanceof Error) || !sqliteUnique.has(readSqliteCode(error) ?? -1)) return error;
  const [, columns = ""] = /UNIQUE constraint failed: (.*)$/.exec(error.message) ?? [];
  return new Duplicate(columns.split(", "), { cause: error });
}

/**
 * `@photostructure/sqlite` omits the code when rows are read, but SQLite's messages are the same.
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

/** For steps that may already have happened: closing, rolling back, merging the log. */
export function ignoreFault(work: () => void): void {
  try {
    work();
  } catch {
    // The step already happened, or another process does it.
  }
}
