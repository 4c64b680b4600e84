import { sql, type Kysely } from "kysely";
import { readKnown, writeMovedMark, type KnownDatabase } from "../sql/migrate.ts";
import { readEngine } from "../sql/open-kysely.ts";
import { CopyFault } from "./copy-fault.ts";

/** Longer than any pending write of another process takes. */
const longestWait_ms = 5_000;

/**
 * Limits the wait for locks, because a concurrent copy of the same PostgreSQL database would hold
 * them until its end.
 */
export async function limitLockWaits(db: Kysely<unknown>): Promise<void> {
  if (readEngine(db) === "sqlite") return;
  await sql.raw(`set local lock_timeout = ${longestWait_ms}`).execute(db);
}

/**
 * Marks a database as moved, so that Waypost no longer starts with it. On PostgreSQL, no process
 * can write during this transaction. Afterwards, triggers reject writes of processes that still
 * run. A SQLite file is locked when it is opened (`lockSqlite`).
 */
export async function stopWrites(
  db: Kysely<unknown>,
  all: readonly KnownDatabase[],
  place: string,
): Promise<void> {
  const mark = writeMovedMark(place);
  for (const { migrations } of all) {
    const done = await readKnown({ db, engine: readEngine(db) }, migrations);
    if (done.length < migrations.list.length) {
      throw new CopyFault("an older version wrote the data; start this version with it once");
    }
    await sql`insert into ${sql.table(migrations.table)} (name) values (${mark})`.execute(db);
  }
  if (readEngine(db) === "sqlite") return;
  await limitLockWaits(db);
  // This transaction is idle while the rows are written to the other database.
  await sql.raw("set local idle_in_transaction_session_timeout = 0").execute(db);
  await sql`
    create function waypost_moved() returns trigger language plpgsql as
    $$ begin raise exception 'this data was %', tg_argv[0]; end $$
  `.execute(db);
  for (const { tables, left = [] } of all) {
    for (const name of [...tables.map((table) => table.name), ...left]) {
      await sql`
        create trigger waypost_moved before insert or update or delete or truncate
        on ${sql.table(name)} for each statement execute function waypost_moved(${sql.lit(mark)})
      `.execute(db);
    }
  }
}
