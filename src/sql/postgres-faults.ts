import { Duplicate, StoreBusy, StoreUnusable } from "./faults.ts";

/**
 * Translates errors of PostgreSQL and of its connections. The codes are in appendix A of
 * PostgreSQL's manual.
 */

const uniqueViolation = "23505";
const lockTaken = "55P03";
/**
 * Nothing was written, and a later attempt may succeed. Either no connection or memory is free, or
 * a statement took too long. Or the server became a standby, or rejects logins now.
 */
const refused = /^(53200|53300|53400|57014|25006|3D000|28\w{3})$/;
/** A serialization failure or a deadlock. The same transaction may succeed next time. */
const repeatable = /^(40001|40P01)$/;
/** The connection ended, because the server stopped or an administrator closed it. */
const ended = /^(57P01|57P02|57P05|ECONNRESET|EPIPE)$/;
const endedWords =
  /^(Connection terminated unexpectedly|Client has encountered a connection error)/;
/**
 * The connection could not be opened or was lost. Network and TLS errors have names as codes. The
 * server sends the other codes while starting and after idle transactions.
 */
const lost = /^(08\w{3}|57P\d\d|25P0[34]|E(?!RR_)[A-Z_]+)$/;
/** Messages of driver errors that have no code. */
const lostWords =
  /^(Connection terminated|Client (has|was)|timeout exceeded|Query read timeout|Cannot use a pool)/;

/**
 * Converts a violated unique constraint to `Duplicate`, and an unreachable server or a lock to
 * `StoreBusy`.
 */
export function translatePostgresFault(error: unknown, place = "the database"): unknown {
  if (error instanceof StoreBusy || error instanceof StoreUnusable) return error;
  const code = readCode(error);
  if (code === uniqueViolation) return readDuplicate(error);
  // The server has ended the statement and rolls back its transaction.
  if (code === lockTaken) return new StoreBusy(locked, { cause: error, outage: "locked" });
  if (!refused.test(code) && !isLost(error)) return error;
  const message = `${place} cannot be reached; check that it is running, and try again`;
  return new StoreBusy(message, { cause: error, outage: "away" });
}

const locked =
  "nothing was written: another transaction has locked a table or row; wait until that ends, or " +
  "end its process (pg_locks shows it), and try again";

/** Checks for a lost connection, after which the result of the last statement is unknown. */
export function isLost(error: unknown): boolean {
  const code = readCode(error);
  return code === "" ? lostWords.test(findCause(error).message) : lost.test(code);
}

/** Checks whether an existing connection broke, so that a new one may work. */
export function isBroken(error: unknown): boolean {
  return ended.test(readCode(error)) || endedWords.test(findCause(error).message);
}

/**
 * Checks whether the server is down, unreachable or out of connections. A later attempt may
 * succeed.
 */
export function isUnreachable(error: unknown): boolean {
  return isLost(error) || readCode(error).startsWith("53");
}

export function isRepeatable(error: unknown): boolean {
  return repeatable.test(readCode(error));
}

/** Returns the code of the driver's error, even if that error is the cause of another. */
export function readCode(error: unknown): string {
  const cause = findCause(error);
  return "code" in cause && typeof cause.code === "string" ? cause.code : "";
}

export function findCause(error: unknown): Error {
  const isOurs = error instanceof StoreUnusable || error instanceof StoreBusy;
  if (isOurs && error.cause !== undefined) return findCause(error.cause);
  return error instanceof Error ? error : new Error("unknown error");
}

/** Reads only the names in parentheses, because the message is in the server's language. */
function readDuplicate(error: unknown): Duplicate {
  // The driver's error has the fields of the server's reply.
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
