import { Duplicate, StoreBusy, StoreUnusable } from "./faults.ts";

/** What the errors of PostgreSQL and of the network to it mean (its manual, appendix A). */

const uniqueViolation = "23505";
const lockTaken = "55P03";
/**
 * Nothing was written, and later it may be: no connection or memory is left, an answer took too
 * long, the server became a standby, or it does not let us in for now.
 */
const refused = /^(53200|53300|53400|57014|25006|3D000|28\w{3})$/;
/** A serialization failure and a deadlock: the same transaction may succeed the next time. */
const repeatable = /^(40001|40P01)$/;
/** The connection ended: the server shut down or crashed, or somebody ended it. */
const ended = /^(57P01|57P02|57P05|ECONNRESET|EPIPE)$/;
const endedWords =
  /^(Connection terminated unexpectedly|Client has encountered a connection error)/;
/**
 * There is no connection, or no more: the network and TLS report it by a name, the server also
 * while it starts, or after a transaction in which nothing happened.
 */
const lost = /^(08\w{3}|57P\d\d|25P0[34]|E(?!RR_)[A-Z_]+)$/;
/** The driver gives these no code. */
const lostWords =
  /^(Connection terminated|Client (has|was)|timeout exceeded|Query read timeout|Cannot use a pool)/;

/** A broken unique constraint becomes `Duplicate`, a server out of reach or a lock `StoreBusy`. */
export function translatePostgresFault(error: unknown, place = "the database"): unknown {
  if (error instanceof StoreBusy || error instanceof StoreUnusable) return error;
  const code = readCode(error);
  if (code === uniqueViolation) return readDuplicate(error);
  // The server has ended the statement, and rolls back the transaction that it is part of.
  if (code === lockTaken) return new StoreBusy(locked, { cause: error, outage: "locked" });
  if (!refused.test(code) && !isLost(error)) return error;
  const message = `${place} cannot be reached; check that it is running, and try again`;
  return new StoreBusy(message, { cause: error, outage: "away" });
}

const locked =
  "nothing was written: another transaction has locked a table or row; wait until that ends, or " +
  "end its process (pg_locks shows it), and try again";

/** The server may or may not have done what it was asked last. */
export function isLost(error: unknown): boolean {
  const code = readCode(error);
  return code === "" ? lostWords.test(findCause(error).message) : lost.test(code);
}

/** A connection that existed is broken: a new one may work. */
export function isBroken(error: unknown): boolean {
  return ended.test(readCode(error)) || endedWords.test(findCause(error).message);
}

/** The server is down, cannot be reached, or has no connection left, so a later try may help. */
export function isUnreachable(error: unknown): boolean {
  return isLost(error) || readCode(error).startsWith("53");
}

export function isRepeatable(error: unknown): boolean {
  return repeatable.test(readCode(error));
}

/** The code of the driver's error, also behind ours. */
export function readCode(error: unknown): string {
  const cause = findCause(error);
  return "code" in cause && typeof cause.code === "string" ? cause.code : "";
}

export function findCause(error: unknown): Error {
  const isOurs = error instanceof StoreUnusable || error instanceof StoreBusy;
  if (isOurs && error.cause !== undefined) return findCause(error.cause);
  return error instanceof Error ? error : new Error("unknown error");
}

/** Only the names in brackets are read: the words around them are in the server's language. */
function readDuplicate(error: unknown): Duplicate {
  // The driver's error has the parts that the server's answer had.
  const { table = "", detail = "" } = error as {
    readonly table?: string;
    readonly detail?: string;
  };
  const columns = (/\(([^)]*)\)=\(/.exec(detail)?.[1] ?? "").split(", ");
  return new Duplicate(
    columns.map((column) => `${table}.${column}`),
    { cause: error },
  );
}
