import { sql, type Kysely } from "kysely";
import { readEngine } from "./open-kysely.ts";

/**
 * The processes that have a PostgreSQL database open, each with a row that it renews: behind a
 * pooler the database cannot say whose its connections are. `waypost migrate` names them. Times are
 * the database's own, because the machines' clocks may differ.
 */

export type OwnProcess = { readonly id: string; readonly host: string; readonly pid: number };

export type OpenProcess = Omit<OwnProcess, "id"> & {
  /** How long ago it renewed its row. */
  readonly seen_s: number;
};

/** A process that has not renewed its row for so long counts as dead. */
export const forgottenAfter_s = 30;

/** Part of the store's tables on PostgreSQL. */
export const processTable = `
  create table if not exists waypost_processes (
    id text primary key,
    host text not null,
    pid integer not null,
    seen_at timestamptz not null
  )
`;

type DatabaseTime = { readonly now: number };

const now = sql`(extract(epoch from clock_timestamp()) * 1000)::bigint as now`;
const isAlive = sql`(seen_at > clock_timestamp() - make_interval(secs => ${forgottenAfter_s}))`;

/** Also removes the rows of processes that were killed. Returns the database's time. */
export async function renewProcess(
  db: Kysely<unknown>,
  { id, host, pid }: OwnProcess,
): Promise<number | undefined> {
  const { rows } = await sql<DatabaseTime>`
    with killed as (delete from waypost_processes where id <> ${id} and not ${isAlive})
    insert into waypost_processes (id, host, pid, seen_at)
    values (${id}, ${host}, ${pid}, clock_timestamp())
    on conflict (id) do update set seen_at = excluded.seen_at
    returning ${now}
  `.execute(db);
  return rows[0]?.now;
}

/** Undefined for a file, which has no clock of its own. */
export async function readDatabaseTime(db: Kysely<unknown>): Promise<number | undefined> {
  if (readEngine(db) === "sqlite") return undefined;
  const { rows } = await sql<DatabaseTime>`select ${now}`.execute(db);
  return rows[0]?.now;
}

export async function removeProcess(db: Kysely<unknown>, id: string): Promise<void> {
  await sql`delete from waypost_processes where id = ${id}`.execute(db);
}

/** Those that live, the one that was seen last first; of a file none is known. */
export async function listProcesses(db: Kysely<unknown>): Promise<readonly OpenProcess[]> {
  if (readEngine(db) === "sqlite") return [];
  const { rows } = await sql<OpenProcess>`
    select host, pid,
      greatest(0, extract(epoch from clock_timestamp() - seen_at))::integer as seen_s
    from waypost_processes where ${isAlive} order by seen_at desc
  `.execute(db);
  return rows;
}
