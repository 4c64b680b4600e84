import { sql, type Kysely } from "kysely";
import { readEngine } from "./open-kysely.ts";

/**
 * Nobody commits anything while it is held, for each transaction that writes begins with its row in
 * `waypost_writers` (postgres-writer-row.ts). Whoever has begun is waited for, though its process
 * stands still. Run first in a long read, it lasts as long as that, which sees all that was
 * committed before: taking a lock is not the read's moment yet. A file has its own ways.
 */
export async function holdWrites(db: Kysely<unknown>): Promise<void> {
  if (readEngine(db) === "sqlite") return;
  for (const setting of settings) await sql.raw(`set local ${setting}`).execute(db);
  await sql`lock table waypost_writers in share mode`.execute(db);
}

/** More than the second after which the server sends its own housekeeping away. */
const longestWait_ms = 5_000;

/**
 * Whoever holds and vanishes, with its machine or its network, holds no longer than a minute: by
 * itself a server may notice after two hours. It notices for the whole of a connection; behind a
 * pooler that is the pooler's own, which has to notice for itself that we are gone, and over a Unix
 * socket nobody can vanish, so there these do nothing.
 */
const settings = [
  `lock_timeout = ${longestWait_ms}`,
  "tcp_keepalives_idle = 30",
  "tcp_keepalives_interval = 10",
  "tcp_keepalives_count = 3",
  // What was sent and never arrived is waited for by another clock.
  "tcp_user_timeout = 60000",
];

export type OpenWrite = {
  /** The server's process. */
  readonly pid: number;
  /** Whence it is connected: the pooler's address, where one stands between. */
  readonly address: string | null;
  readonly open_s: number | null;
};

/** The transaction that has been open for the longest of those that hold others up. */
export async function findOpenWrite(db: Kysely<unknown>): Promise<OpenWrite | undefined> {
  const { rows } = await sql<OpenWrite>`
    select pid, host(client_addr) as address,
      extract(epoch from clock_timestamp() - xact_start)::integer as open_s
    from pg_stat_activity
    where pid in (
      select pid from pg_locks
      where relation = to_regclass('waypost_writers') and mode = 'RowExclusiveLock' and granted
        and database = (select oid from pg_database where datname = current_database())
    )
    order by xact_start limit 1
  `.execute(db);
  return rows[0];
}
