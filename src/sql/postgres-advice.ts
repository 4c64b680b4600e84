import { sql, type Kysely } from "kysely";
import { StoreBusy, StoreUnusable } from "./faults.ts";
import { inOwnSchema, readEngine } from "./open-kysely.ts";
import { readCode } from "./postgres-faults.ts";

/** The server's own words, and what has to be done where its role may not do what Waypost needs. */

/** What a role may do in a database. */
export type Rights = {
  readonly role: string;
  readonly database: string;
  /** Where tables are made; null where the role can use no schema of its search path. */
  readonly schema: string | null;
  readonly may_create: boolean | null;
  readonly is_read_only: boolean;
  readonly is_standby: boolean;
};

export const selectRights = sql<Rights>`
  select current_user::text as role,
    current_database()::text as database,
    current_schema()::text as schema,
    has_schema_privilege(current_schema()::text, 'CREATE') as may_create,
    current_setting('transaction_read_only') = 'on' as is_read_only,
    pg_is_in_recovery() as is_standby
`;

const noRight = "42501";
const noSchema = "3F000";
const readOnly = "25006";

/** Why no table can be made in an empty database. */
export function findMakingFault(rights: Rights): string | undefined {
  if (rights.is_read_only) return explainReadOnly(rights);
  if (rights.schema === null) return explainNoSchema(rights);
  if (rights.may_create === true) return undefined;
  const [role, schema] = [quoteName(rights.role), quoteName(rights.schema)];
  return `does not let the role ${role} create tables in the schema ${schema}. ${grantAll(rights)}`;
}

/** An error that waiting does not fix becomes StoreUnusable with advice. Others stay. */
export function explainRights(error: unknown, rights: Rights, place: string): unknown {
  const code = readCode(error);
  const refuse = (fault: string) => new StoreUnusable(`${place} ${fault}`, { cause: error });
  if (code === noSchema) return refuse(explainNoSchema(rights));
  if (code === noRight) return refuse(explainNoRight(readMessage(error), rights));
  if (code !== readOnly) return error;
  if (rights.is_read_only) return refuse(explainReadOnly(rights));
  const message =
    `${place} no longer accepts writes; check whether it became a standby or read-only, and ` +
    "try again";
  return new StoreBusy(message, { cause: error, outage: "away" });
}

/** Why a store that can be read cannot be written. Opening a file reports this by itself. */
export async function findWriteFault(db: Kysely<unknown>): Promise<string | undefined> {
  if (readEngine(db) === "sqlite") return undefined;
  const [rights] = (await selectRights.execute(db)).rows;
  const [refused] = (await selectRefused.execute(db)).rows;
  if (rights?.is_read_only === true) return explainReadOnly(rights);
  return rights && refused && explainNoRight(`the table ${refused.name}`, rights);
}

const selectRefused = sql<{ readonly name: string }>`
  select relname::text as name from pg_class
  where ${sql.raw(inOwnSchema)}
    and not (has_table_privilege(oid, 'SELECT') and has_table_privilege(oid, 'INSERT')
      and has_table_privilege(oid, 'UPDATE') and has_table_privilege(oid, 'DELETE'))
  order by relname limit 1
`;

function explainReadOnly({ is_standby, role, database }: Rights): string {
  if (is_standby) return "does not accept writes: it is a standby. Use the address of its primary";
  return (
    `does not accept writes: it is read-only for the role ${quoteName(role)}. ${administrator} ` +
    `ALTER ROLE ${quoteName(role)} IN DATABASE ${quoteName(database)} ` +
    "SET default_transaction_read_only = off"
  );
}

function explainNoSchema({ role, database }: Rights): string {
  return (
    `has no schema that the role ${quoteName(role)} can use. ${administrator} ` +
    `ALTER ROLE ${quoteName(role)} IN DATABASE ${quoteName(database)} SET search_path = public; ` +
    `GRANT USAGE, CREATE ON SCHEMA public TO ${quoteName(role)}`
  );
}

function explainNoRight(missing: string, { role, schema }: Rights): string {
  const advice = grantAll({ role, schema });
  return `denies the role ${quoteName(role)} a permission (${missing}). ${advice}`;
}

function grantAll({ role, schema }: Pick<Rights, "role" | "schema">): string {
  const place = `SCHEMA ${quoteName(schema ?? "public")} TO ${quoteName(role)}`;
  return (
    `${administrator} GRANT USAGE, CREATE ON ${place}; ` +
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN ${place}`
  );
}

const administrator = "Ask an administrator to run there:";

/** Why a server refuses a connection. */
export function explainOpening(error: unknown, url: string): string {
  const message = readMessage(error);
  if (message.includes("client password must be")) return noPassword;
  if (message === noTls) return `${message}. ${turnTlsOn}`;
  const advice = advices[readCode(error)]?.(readNames(url));
  return advice === undefined ? message : `${message}. ${advice}`;
}

const noPassword =
  "the server needs a password. Add it to the address (best in the " +
  "file of WAYPOST_DATABASE_URL_FILE), or set PGPASSWORD";

/** The driver's own words, without a code. */
const noTls = "The server does not support SSL connections";
const turnTlsOn =
  "Ask an administrator to turn on TLS there (ssl = on). If the network is safe, you can remove " +
  "sslmode from the address instead";

const nameRoot = () =>
  "Add sslmode=verify-full&sslrootcert=FILE to the address. FILE is the root certificate of the " +
  "server, which its provider offers";
const nameHost = () =>
  "Use the host name of the certificate in the address, or ask an administrator for a " +
  "certificate with this host name";
const checkLogin = () =>
  "Check the user and the password in the address, and the server's pg_hba.conf. If the server " +
  "requires TLS, add sslmode=verify-full to the address";

type Names = { readonly role: string; readonly database: string };

const advices: Readonly<Record<string, (names: Names) => string>> = {
  [noRight]: ({ role, database }) =>
    `${administrator} GRANT CONNECT ON DATABASE ${database} TO ${role}`,
  "28000": checkLogin,
  "28P01": checkLogin,
  DEPTH_ZERO_SELF_SIGNED_CERT: nameRoot,
  SELF_SIGNED_CERT_IN_CHAIN: nameRoot,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: nameRoot,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: nameRoot,
  ERR_TLS_CERT_ALTNAME_INVALID: nameHost,
  ECONNREFUSED: () => "Start PostgreSQL there, or correct the host and the port of the address",
  ENOTFOUND: () => "Correct the host name of the address",
  "3D000": ({ role, database }) => `${administrator} CREATE DATABASE ${database} OWNER ${role}`,
};

/** The driver takes both from elsewhere where the address leaves them out. */
function readNames(url: string): Names {
  const { username, pathname } = new URL(url);
  return {
    role: username === "" ? "the role" : quoteName(decodeURIComponent(username)),
    database: quoteName(decodeURIComponent(pathname.slice(1))),
  };
}

function readMessage(error: unknown): string {
  return error instanceof Error ? error.message : "unknown error";
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
