import { sql, type Kysely } from "kysely";
import { readEngine } from "./open-kysely.ts";
import { isMissingTable, runWithTable } from "./postgres-faults.ts";

/**
 * The processes that have a PostgreSQL database open, each with a row that it renews: whose its
 * connections are the database cannot tell, where a pooler stands between. A process that was
 * killed is forgotten soon. Times are the database's own, for the machines' clocks may differ.
 */

export type OwnProcess = { readonly id: string; readonly host: string; readonly pid: number };

export type OpenProcess = Omit<OwnProcess, "id"> & {
  /** How long ago it renewed its row. */
  readonly seen_s: number;
};

/** One that has not renewed its row for so long is taken for dead. */
export const forgottenAfter_s = 30;

const createTable = sql`
  create table if not exists waypost_processes (
    id text collate "C" primary key,
    host text collate "C" not null,
    pid integer not null,
    seen_at timestamptz not null
  )
`;

/** Returns the database's time. */
export async function renewProcess(
  db: Kysely<unknown>,
  own: OwnProcess,
): Promise<number | undefined> {
  const renew = sql<{ readonly now: number }>`
    insert into waypost_processes (id, host, pid, seen_at)
    values (${own.id}, ${own.host}, ${own.pid}, clock_timestamp())
    on conflict (id) do update set seen_at = excluded.seen_at
    returning ${now}
  `;
  const renewed = await runWithTable(
    () => renew.execute(db),
    () => createTable.execute(db),
  );
  return renewed.rows[0]?.now;
}

/** Undefined for a file, which has no clock of its own. */
export async function readDatabaseTime(db: Kysely<unknown>): Promise<number | undefined> {
  if (readEngine(db) === "sqlite") return undefined;
  const { rows } = await sql<{ readonly now: number }>`select ${now}`.execute(db);
  return rows[0]?.now;
}

const now = sql`(extract(epoch from clock_timestamp()) * 1000)::bigint as now`;

/** Takes its row away. */
export async function removeProcess(db: Kysely<unknown>, id: string): Promise<void> {
  await sql`delete from waypost_processes where id = ${id}`.execute(db);
}

/** Takes away what processes that were killed have left. */
export async function removeForgotten(db: Kysely<unknown>): Promise<void> {
  await sql`delete from waypost_processes where not ${isAlive}`.execute(db);
}

/** Those that live, the one that was seen last first; of a file none is known. */
export async function listProcesses(db: Kysely<unknown>): Promise<readonly OpenProcess[]> {
  if (readEngine(db) === "sqlite") return [];
  const found = sql<OpenProcess>`
    select host, pid,
      greatest(0, extract(epoch from clock_timestamp() - seen_at))::integer as seen_s
    from waypost_processes where ${isAlive} order by seen_at desc
  `;
  try {
    return (await found.execute(db)).rows;
  } catch (error) {
    // No process has used this database yet.
    if (isMissingTable(error)) return [];
    throw error;
  }
}

const isAlive = sql`(seen_at > clock_timestamp() - make_interval(secs => ${forgottenAfter_s}))`;
