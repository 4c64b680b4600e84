import { Duplicate, StoreBusy, StoreUnusable } from "./faults.ts";

/** What the errors of PostgreSQL and of the way to it mean (its manual, appendix A). */

const uniqueViolation = "23505";
const lockTaken = "55P03";
/** A serialization failure and a deadlock: the same transaction may go through the next time. */
const repeatable = new Set(["40001", "40P01"]);
/** The server ends the connection: it shuts down, has crashed, starts, or somebody ended it. */
const ended = new Set(["57P01", "57P02", "57P03", "57P05", "25P03", "25P04"]);
/**
 * Nothing was written, and later it may be: no connection or memory is left, an answer took too
 * long, the server became a standby, or it does not let us in for now.
 */
const refused = new Set(["53200", "53300", "53400", "57014", "25006", "3D000"]);
const network = new Set(
  `ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN
  ENOTFOUND EAI_AGAIN ENOENT`.split(/\s+/),
);
/** The driver gives these no code. */
const endings = [
  "Connection terminated",
  "Client has encountered a connection error",
  "Client was closed",
  "timeout exceeded when trying to connect",
  "Cannot use a pool after calling end",
];

const broken = new Set([
  "57P01",
  "57P02",
  "57P05",
  "ECONNRESET",
  "EPIPE",
  "Connection terminated unexpectedly",
  "Client has encountered a connection error and is not queryable",
]);

/** A broken unique constraint becomes `Duplicate`, a server out of reach or a lock `StoreBusy`. */
export function translatePostgresFault(error: unknown, place = "the database"): unknown {
  const code = readCode(error);
  if (code === uniqueViolation) return readDuplicate(error);
  // The server has ended the statement, and takes back the transaction that it is part of.
  if (code === lockTaken) return new StoreBusy(locked, { cause: error, outage: "locked" });
  const isRefused = refused.has(code) || code.startsWith("28");
  if (!isRefused && !isLost(error)) return error;
  const message = `${place} cannot be reached; check that it is running, and try again`;
  return new StoreBusy(message, { cause: error, outage: "away" });
}

/** What the server was asked last, it may have done or not. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof StoreBusy) return isLost(error.cause);
  const code = readCode(error);
  if (ended.has(code)) return true;
  if (code.startsWith("08") || network.has(code)) return true;
  return code === "" && endings.some((ending) => error.message.startsWith(ending));
}

/** The server is down, cannot be reached, or has no connection left, so a later try may help. */
export function isUnreachable(error: unknown): boolean {
  const isOurs = error instanceof StoreUnusable || error instanceof StoreBusy;
  if (isOurs) return isUnreachable(error.cause);
  return isLost(error) || readCode(error).startsWith("53");
}

/** The connection was there, and is no more: one that is made now may serve. */
export function isBroken(error: unknown): boolean {
  if (error instanceof StoreBusy) return isBroken(error.cause);
  return error instanceof Error && (broken.has(readCode(error)) || broken.has(error.message));
}

export function isRepeatable(error: unknown): boolean {
  return repeatable.has(readCode(error));
}

export function isMissingTable(error: unknown): boolean {
  return readCode(error) === "42P01";
}

const locked =
  "nothing was written: another transaction has locked a table or row; wait until that ends, or " +
  "end its process (pg_locks shows it), and try again";

/** Somebody else has held it for as long as one waits. */
export function isLockTaken(error: unknown): boolean {
  if (error instanceof StoreBusy) return isLockTaken(error.cause);
  return readCode(error) === lockTaken;
}

export function readCode(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return "";
  return typeof error.code === "string" ? error.code : "";
}

/** Only the names in brackets are read: the words around them are in the server's language. */
function readDuplicate(error: unknown): Duplicate {
  // What the driver throws for an answer of the server, with the parts that this one had.
  const fault = error as Error & { readonly table?: string; readonly detail?: string };
  const { table = "", detail = "" } = fault;
  const columns = (/\(([^)]*)\)=\(/.exec(detail)?.[1] ?? "").split(", ");
  return new Duplicate(
    columns.map((column) => `${table}.${column}`),
    { cause: error },
  );
}
