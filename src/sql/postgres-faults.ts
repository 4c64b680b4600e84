import { sql, type Kysely } from "kysely";
import { Duplicate, StoreBusy, StoreUnusable } from "./faults.ts";
import { inOwnSchema, readEngine } from "./open-kysely.ts";

/**
 * Translates errors of PostgreSQL and its driver, and explains how to fix a server or role that
 * Waypost cannot use. Appendix A of PostgreSQL's manual lists the codes.
 */

const uniqueViolation = "23505";
const lockTaken = "55P03";
/**
 * Temporary errors after which nothing was written. The server has no free connection or memory,
 * ended a slow statement, became a standby, or rejected the login.
 */
const refused = /^(53200|53300|53400|57014|25006|3D000|28\w{3})$/;
/** A serialization failure or a deadlock. A retry of the same transaction may succeed. */
const repeatable = /^(40001|40P01)$/;
/** The connection was closed, because the server stopped or an administrator closed it. */
const ended = /^(57P01|57P02|57P05|ECONNRESET|EPIPE)$/;
const endedWords =
  /^(Connection terminated unexpectedly|Client has encountered a connection error)/;
/**
 * The connection could not be opened or was lost. Codes that start with E come from the network or
 * TLS, the others from the server.
 */
const lost = /^(08\w{3}|57P\d\d|25P0[34]|E(?!RR_)[A-Z_]+)$/;
/** Messages of driver errors without a code. */
const lostWords =
  /^(Connection terminated|Client (has|was)|timeout exceeded|Query read timeout|Cannot use a pool)/;

/**
 * Converts a unique constraint violation to `Duplicate`, and an unreachable server or a lock to
 * `StoreBusy`. Returns all other errors unchanged.
 */
export function translatePostgresFault(error: unknown, place = "the database"): unknown {
  if (error instanceof StoreBusy || error instanceof StoreUnusable) return error;
  const code = readCode(error);
  if (code === uniqueViolation) return readDuplicate(error);
  // The server has aborted the statement, and will roll back its transaction.
  if (code === lockTaken) return new StoreBusy(locked, { cause: error, outage: "locked" });
  if (!refused.test(code) && !isLost(error)) return error;
  const message = `${place} cannot be reached; check that it is running, and try again`;
  return new StoreBusy(message, { cause: error, outage: "away" });
}

const locked =
  "nothing was written: another transaction has locked a table or row; wait until that ends, or " +
  "end its process (pg_locks shows it), and try again";

/** Whether the connection was lost. The result of the last statement is then unknown. */
export function isLost(error: unknown): boolean {
  const code = readCode(error);
  return code === "" ? lostWords.test(findCause(error).message) : lost.test(code);
}

/** Whether an open connection was closed. A new connection may work. */
export function isBroken(error: unknown): boolean {
  return ended.test(readCode(error)) || endedWords.test(findCause(error).message);
}

/** Whether the server is down, unreachable or out of connections. A later attempt may succeed. */
export function isUnreachable(error: unknown): boolean {
  return isLost(error) || readCode(error).startsWith("53");
}

export function isRepeatable(error: unknown): boolean {
  return repeatable.test(readCode(error));
}

/** Returns the code of the driver's error, even if another error wraps it. */
function readCode(error: unknown): string {
  const cause = findCause(error);
  return "code" in cause && typeof cause.code === "string" ? cause.code : "";
}

function findCause(error: unknown): Error {
  const isOurs = error instanceof StoreUnusable || error instanceof StoreBusy;
  if (isOurs && error.cause !== undefined) return findCause(error.cause);
  return error instanceof Error ? error : new Error("unknown error");
}

/** Reads only the names in parentheses, because the message is in the server's language. */
function readDuplicate(error: unknown): Duplicate {
  // The driver copies these fields from the server's response.
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

export type DatabaseFacts = {
  readonly version: number;
  readonly encoding: string;
  readonly is_ours: boolean;
  readonly has_tables: boolean;
  readonly role: string;
  readonly database: string;
  /** The schema for new tables; null if the role can use no schema of its search path. */
  readonly schema: string | null;
  readonly may_create: boolean | null;
  readonly is_read_only: boolean;
  readonly is_standby: boolean;
  /** The name of a table that the role may not change; null if there is none. */
  readonly refused: string | null;
};

const selectFacts = sql<DatabaseFacts>`
  select current_setting('server_version_num')::int as version,
    current_setting('server_encoding') as encoding,
    coalesce(to_regclass('waypost_migrations'), to_regclass('state_migrations')) is not null
      as is_ours,
    exists (select from pg_class
     where ${sql.raw(inOwnSchema)}) as has_tables,
    current_user::text as role,
    current_database()::text as database,
    current_schema()::text as schema,
    has_schema_privilege(current_schema()::text, 'CREATE') as may_create,
    current_setting('transaction_read_only') = 'on' as is_read_only,
    pg_is_in_recovery() as is_standby,
    (select min(relname::text) from pg_class
     where ${sql.raw(inOwnSchema)}
      and not (has_table_privilege(oid, 'SELECT') and has_table_privilege(oid, 'INSERT')
        and has_table_privilege(oid, 'UPDATE') and has_table_privilege(oid, 'DELETE'))) as refused
`;

export async function readFacts<Tables>(db: Kysely<Tables>): Promise<DatabaseFacts> {
  const [facts] = (await selectFacts.execute(db)).rows;
  if (facts === undefined) throw new Error("a select without a row");
  return facts;
}

/** PostgreSQL 13, in the format of `server_version_num`. */
const oldestVersion = 130_000;

/** Explains why Waypost cannot use a database. Returns undefined if it can. */
export function findOpeningFault(facts: DatabaseFacts): string | undefined {
  if (facts.version < oldestVersion) return "is too old: Waypost needs PostgreSQL 13 or newer.";
  if (facts.encoding !== "UTF8") {
    return "is not encoded in UTF8. Create a database with that encoding.";
  }
  if (facts.is_ours) return undefined;
  if (!facts.has_tables) return explainWriteFault(facts);
  return "contains tables of another program. Nothing was changed. Use a separate database.";
}

/**
 * Explains why a PostgreSQL database cannot be written. A SQLite file is checked when it is opened.
 */
export async function findWriteFault<Tables>(db: Kysely<Tables>): Promise<string | undefined> {
  return readEngine(db) === "sqlite" ? undefined : explainWriteFault(await readFacts(db));
}

function explainWriteFault(facts: DatabaseFacts): string | undefined {
  const { role, schema, refused } = facts;
  if (facts.is_read_only) return explainReadOnly(facts);
  if (schema === null) return explainNoSchema(facts);
  if (refused !== null) return explainNoRight(`the table ${refused}`, facts);
  if (facts.is_ours || facts.may_create === true) return undefined;
  return (
    `does not let the role ${quoteName(role)} create tables in the schema ${quoteName(schema)}. ` +
    grantAll(facts)
  );
}

const noRight = "42501";
const noSchema = "3F000";
const readOnly = "25006";

/**
 * Converts an error about missing permissions or a read-only database to one with advice. Returns
 * other errors unchanged.
 */
export function explainRights(error: unknown, facts: DatabaseFacts, place: string): unknown {
  const refuse = (fault: string) => new StoreUnusable(`${place} ${fault}`, { cause: error });
  const code = readCode(error);
  if (code === noSchema) return refuse(explainNoSchema(facts));
  if (code === noRight) return refuse(explainNoRight(findCause(error).message, facts));
  if (code !== readOnly) return error;
  if (facts.is_read_only) return refuse(explainReadOnly(facts));
  const message =
    `${place} no longer accepts writes; check whether it became a standby or read-only, and ` +
    "try again";
  return new StoreBusy(message, { cause: error, outage: "away" });
}

const administrator = "Ask an administrator to run there:";

function explainReadOnly({ is_standby, role, database }: DatabaseFacts): string {
  if (is_standby) return "does not accept writes: it is a standby. Use the address of its primary";
  return (
    `does not accept writes: it is read-only for the role ${quoteName(role)}. ${administrator} ` +
    `ALTER ROLE ${quoteName(role)} IN DATABASE ${quoteName(database)} ` +
    "SET default_transaction_read_only = off"
  );
}

function explainNoSchema({ role, database }: DatabaseFacts): string {
  return (
    `has no schema that the role ${quoteName(role)} can use. ${administrator} ` +
    `ALTER ROLE ${quoteName(role)} IN DATABASE ${quoteName(database)} SET search_path = public; ` +
    `GRANT USAGE, CREATE ON SCHEMA public TO ${quoteName(role)}`
  );
}

function explainNoRight(missing: string, facts: DatabaseFacts): string {
  const role = quoteName(facts.role);
  return `denies the role ${role} a permission (${missing}). ${grantAll(facts)}`;
}

function grantAll({ role, schema }: DatabaseFacts): string {
  const place = `SCHEMA ${quoteName(schema ?? "public")} TO ${quoteName(role)}`;
  return (
    `${administrator} GRANT USAGE, CREATE ON ${place}; ` +
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN ${place}`
  );
}

/** Returns the server's reason for rejecting a connection, with advice. */
export function explainOpening(error: unknown, url: string): string {
  const { message } = findCause(error);
  if (message.includes("client password must be")) {
    return (
      "the server needs a password. Add it to the address (best in the file of " +
      "WAYPOST_DATABASE_URL_FILE), or set PGPASSWORD"
    );
  }
  // The driver's own errors have a message but no code.
  const specific = listAdvice(url)[readCode(error) || message];
  const advice = specific ?? (isLost(error) ? tryAgain : undefined);
  return advice === undefined ? message : `${message}. ${advice}`;
}

const tryAgain = "Check that PostgreSQL is running there, and try again";
const nameRoot =
  "Add sslmode=verify-full&sslrootcert=FILE to the address. FILE is the root certificate of the " +
  "server, which its provider offers";
const checkLogin =
  "Check the user and the password in the address, and the server's pg_hba.conf. If the server " +
  "requires TLS, add sslmode=verify-full to the address";

function listAdvice(url: string): Readonly<Record<string, string>> {
  const { username, pathname } = new URL(url);
  // If the URL omits the role or the database, the driver reads it from the environment.
  const role = username === "" ? "the role" : quoteName(decodeURIComponent(username));
  const database = quoteName(decodeURIComponent(pathname.slice(1)));
  return {
    [noRight]: `${administrator} GRANT CONNECT ON DATABASE ${database} TO ${role}`,
    "3D000": `${administrator} CREATE DATABASE ${database} OWNER ${role}`,
    "28000": checkLogin,
    "28P01": checkLogin,
    ECONNREFUSED: "Start PostgreSQL there, or correct the host and the port of the address",
    ENOTFOUND: "Correct the host name of the address",
    DEPTH_ZERO_SELF_SIGNED_CERT: nameRoot,
    SELF_SIGNED_CERT_IN_CHAIN: nameRoot,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: nameRoot,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: nameRoot,
    ERR_TLS_CERT_ALTNAME_INVALID:
      "Use the host name of the certificate in the address, or ask an administrator for a " +
      "certificate with this host name",
    "The server does not support SSL connections":
      "Ask an administrator to turn on TLS there (ssl = on). If the network is safe, you can " +
      "remove sslmode from the address instead",
  };
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
