import { sql, type Kysely } from "kysely";
import { readKnown, writeMovedMark, type CopiedTables } from "../sql/migrate.ts";
import { readEngine } from "../sql/open-kysely.ts";
import { CopyFault } from "./copy-fault.ts";

/** Longer than a write that another process has begun. */
const longestWait_ms = 5_000;

/** Another copy into or out of the same PostgreSQL database has locked it until its end. */
export async function limitLockWaits(db: Kysely<unknown>): Promise<void> {
  if (readEngine(db) === "sqlite") return;
  await sql.raw(`set local lock_timeout = ${longestWait_ms}`).execute(db);
}

/**
 * Marks a database as moved to another place. Every start reads the mark. On PostgreSQL, triggers
 * also refuse the writes of processes that are running, or wake up later, and no process can write
 * until this transaction ends. A SQLite file is locked when it is opened (`lockSqlite`).
 */
export async function stopWrites(
  db: Kysely<unknown>,
  all: readonly CopiedTables[],
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
  // Nothing is written to this database while the rows go to the other one.
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
