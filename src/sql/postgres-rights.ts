import { sql, type Kysely } from "kysely";
import { StoreBusy, StoreUnusable } from "./faults.ts";
import { readEngine } from "./open-kysely.ts";
import { readCode } from "./postgres-faults.ts";
import { inOwnSchema } from "./list-tables.ts";

/** What a database lets its role do, and what an administrator has to run where that is little. */

export type Rights = {
  readonly role: string;
  readonly database: string;
  /** Where tables are made; null where the role sees no schema of its search path. */
  readonly schema: string | null;
  readonly path: string;
  /** The first of that path. */
  readonly wanted: string | null;
  readonly is_wanted_there: boolean;
  readonly may_create: boolean | null;
  readonly is_read_only: boolean;
  readonly is_standby: boolean;
  /** To whom the tables belong, where there are some. */
  readonly owner: string | null;
};

export const selectRights = String.raw`
  select current_user::text as role,
    current_database()::text as database,
    current_schema()::text as schema,
    current_setting('search_path') as path,
    wanted,
    to_regnamespace(quote_ident(wanted)) is not null as is_wanted_there,
    has_schema_privilege(current_schema()::text, 'CREATE') as may_create,
    current_setting('transaction_read_only') = 'on' as is_read_only,
    pg_is_in_recovery() as is_standby,
    (select pg_get_userbyid(relowner)::text from pg_class
     where oid = to_regclass('waypost_writers')) as owner
  from (
    select replace(replace(coalesce(name[1], name[2]), '""', '"'), '$user', current_user) as wanted
    from (select 1) as one left join
      regexp_match(current_setting('search_path'), '^\s*(?:"((?:[^"]|"")*)"|([^\s",]+))') as name
      on true
  ) as searched
`;

const noRight = "42501";
const noSchema = "3F000";
const readOnly = "25006";

/** Why no table can be made where there is none yet. */
export function findMakingFault(rights: Rights): string | undefined {
  if (rights.is_read_only) return explainReadOnly(rights);
  if (rights.schema === null) return explainSchema(rights);
  return rights.may_create === true ? undefined : explainMaking(rights, rights.schema);
}

/** An error that no time mends, told with what has to be done; any other one as it is. */
export function explainRights(error: unknown, rights: Rights, place: string): unknown {
  const code = readCode(error);
  const refuse = (fault: string) => new StoreUnusable(`${place} ${fault}`, { cause: error });
  if (code === noSchema) return refuse(explainSchema(rights));
  if (code === noRight) return refuse(explainRefusal(error, rights));
  if (code !== readOnly) return error;
  if (rights.is_read_only) return refuse(explainReadOnly(rights));
  const message =
    `${place} no longer accepts writes; check whether it became a standby or read-only, and ` +
    "try again";
  return new StoreBusy(message, { cause: error, outage: "away" });
}

/** Why a store that can be read cannot be written; a file says so when it is opened. */
export async function findWriteFault(db: Kysely<unknown>): Promise<string | undefined> {
  if (readEngine(db) === "sqlite") return undefined;
  const [rights] = (await sql.raw<Rights>(selectRights).execute(db)).rows;
  if (rights?.is_read_only === true) return explainReadOnly(rights);
  const [refused] = (await selectRefused.execute(db)).rows;
  if (rights === undefined || refused === undefined) return undefined;
  return explainRefusal(new Error(`the table ${refused.name}`), rights);
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

function explainSchema({ path, wanted, is_wanted_there, role, database }: Rights): string {
  const name = quoteName(wanted ?? "");
  const mend = is_wanted_there
    ? `GRANT USAGE, CREATE ON SCHEMA ${name} TO ${quoteName(role)}`
    : wanted === null || wanted === ""
      ? `ALTER ROLE ${quoteName(role)} IN DATABASE ${quoteName(database)} SET search_path = public`
      : `CREATE SCHEMA ${name} AUTHORIZATION ${quoteName(role)}`;
  return (
    `has no schema for the role ${quoteName(role)}: its search_path is ${path || "empty"}, and ` +
    `the role can use none of these schemas. ${administrator} ${mend}`
  );
}

function explainMaking({ role }: Rights, schema: string): string {
  return (
    `does not let the role ${quoteName(role)} create tables in the schema ${quoteName(schema)}. ` +
    `${administrator} GRANT CREATE ON SCHEMA ${quoteName(schema)} TO ${quoteName(role)}`
  );
}

/** Who may write rows may still not change tables, as a new version does: only their owner may. */
function explainRefusal(error: unknown, { role, schema, owner, may_create }: Rights): string {
  const said = error instanceof Error ? error.message : "";
  const isOwn = owner === null || owner === role;
  const start = isOwn
    ? administrator
    : `The tables belong to ${quoteName(owner)}. Start Waypost with that role, which the first ` +
      "start of each new version needs anyway, or ask an administrator to run there:";
  const place = `SCHEMA ${quoteName(schema ?? "public")} TO ${quoteName(role)}`;
  const making = may_create === true ? "" : `GRANT CREATE ON ${place}; `;
  return (
    `denies the role ${quoteName(role)} a permission (${said}). ${start} ` +
    `${making}GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN ${place}`
  );
}

const administrator = "Ask an administrator to run there:";

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
