import { Duplicate, StoreBusy, StoreUnusable } from "./faults.ts";

/** What the errors of PostgreSQL and of the network to it mean (its manual, appendix A). */

const uniqueViolation = "23505";
const lockTaken = "55P03";
/** A serialization failure and a deadlock: the same transaction may succeed the next time. */
const repeatable = new Set(["40001", "40P01"]);
/** The connection ended: the server shut down or crashed, or somebody ended it. */
const ended = ["57P01", "57P02", "57P05", "ECONNRESET", "EPIPE"];
/** It starts, or ended a transaction in which nothing happened. */
const notNow = ["57P03", "25P03", "25P04"];
/**
 * Nothing was written, and later it may be: no connection or memory is left, an answer took too
 * long, the server became a standby, or it does not let us in for now.
 */
const refused = new Set(["53200", "53300", "53400", "57014", "25006", "3D000"]);
const network = `ECONNREFUSED ECONNABORTED ETIMEDOUT EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN
  ENOTFOUND EAI_AGAIN ENOENT`.split(/\s+/);

/** The driver gives these no code. */
const endedWords = new Set([
  "Connection terminated unexpectedly",
  "Client has encountered a connection error and is not queryable",
]);
const lostWords = [
  "Connection terminated",
  "Client has encountered a connection error",
  "Client was closed",
  "timeout exceeded when trying to connect",
  "Cannot use a pool after calling end",
];

/** A broken unique constraint becomes `Duplicate`, a server out of reach or a lock `StoreBusy`. */
export function translatePostgresFault(error: unknown, place = "the database"): unknown {
  if (error instanceof StoreBusy || error instanceof StoreUnusable) return error;
  const code = readCode(error);
  if (code === uniqueViolation) return readDuplicate(error);
  // The server has ended the statement, and rolls back the transaction that it is part of.
  if (code === lockTaken) return new StoreBusy(locked, { cause: error, outage: "locked" });
  if (!refused.has(code) && !code.startsWith("28") && !isLost(error)) return error;
  const message = `${place} cannot be reached; check that it is running, and try again`;
  return new StoreBusy(message, { cause: error, outage: "away" });
}

const locked =
  "nothing was written: another transaction has locked a table or row; wait until that ends, or " +
  "end its process (pg_locks shows it), and try again";

/** The server may or may not have done what it was asked last. */
export function isLost(error: unknown): boolean {
  const [code, { message }] = [readCode(error), findCause(error)];
  if (code !== "") {
    return code.startsWith("08") || [...ended, ...notNow, ...network].includes(code);
  }
  return lostWords.some((words) => message.startsWith(words));
}

/** A connection that existed is broken: a new one may work. */
export function isBroken(error: unknown): boolean {
  const [code, { message }] = [readCode(error), findCause(error)];
  return ended.includes(code) || endedWords.has(message);
}

/** The server is down, cannot be reached, or has no connection left, so a later try may help. */
export function isUnreachable(error: unknown): boolean {
  return isLost(error) || readCode(error).startsWith("53");
}

export function isRepeatable(error: unknown): boolean {
  return repeatable.has(readCode(error));
}

/** The code of the driver's error, also behind ours. */
export function readCode(error: unknown): string {
  const cause = findCause(error);
  return "code" in cause && typeof cause.code === "string" ? cause.code : "";
}

function findCause(error: unknown): Error {
  const isOurs = error instanceof StoreUnusable || error instanceof StoreBusy;
  if (isOurs && error.cause !== undefined) return findCause(error.cause);
  return error instanceof Error ? error : new Error("unknown error");
}

/** Only the names in brackets are read: the words around them are in the server's language. */
function readDuplicate(error: unknown): Duplicate {
  // The driver's error has the parts that the server's answer had.
  const fault = error as { readonly table?: string; readonly detail?: string };
  const { table = "", detail = "" } = fault;
  const columns = (/\(([^)]*)\)=\(/.exec(detail)?.[1] ?? "").split(", ");
  return new Duplicate(
    columns.map((column) => `${table}.${column}`),
    { cause: error },
  );
}
