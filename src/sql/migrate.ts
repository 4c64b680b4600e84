import { sql, type Kysely } from "kysely";
import { NotMigrated, StoreUnusable } from "./faults.ts";
import { copyUnderWay, isCopyMark } from "./copy-mark.ts";
import type { Engine, Sql } from "./sql.ts";

export type Migration = {
  readonly name: string;
  readonly up: (db: Kysely<unknown>, engine: Engine) => Promise<void>;
};

/** What most migrations do. */
export async function runStatements(
  db: Kysely<unknown>,
  statements: readonly string[],
): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/**
 * Brings the tables up to date: each migration in a transaction of its own together with its
 * mark, so that two processes that start at once do each of them once.
 */
export async function migrate<Tables>(
  store: Sql<Tables>,
  migrations: readonly Migration[],
  isLook = false,
): Promise<void> {
  const done = await readDone(store);
  if (done.some(isCopyMark)) throw new StoreUnusable(copyUnderWay);
  if (!areKnown(done, migrations)) {
    throw new StoreUnusable(
      "The store was made by a newer Waypost. Install that version or newer.",
    );
  }
  if (isLook && done.length < migrations.length) throw new NotMigrated(done.length === 0);
  await runMigrations(store, migrations, done);
}

export function areKnown(names: readonly string[], migrations: readonly Migration[]): boolean {
  return names.every((name) => migrations.some((migration) => migration.name === name));
}

/** Runs each that is not yet done, whatever else is marked. */
export async function runMigrations<Tables>(
  store: Sql<Tables>,
  migrations: readonly Migration[],
  done: readonly string[],
): Promise<void> {
  for (const migration of migrations) {
    if (done.includes(migration.name)) continue;
    await store.write(async (typed) => {
      // The tables that Kysely knows are only there once the migrations have run.
      const db = typed as unknown as Kysely<unknown>;
      await makeMarks(db);
      const marked = await sql`
        insert into migrations (name) values (${migration.name}) on conflict do nothing
      `.execute(db);
      if (marked.numAffectedRows === 1n) await migration.up(db, store.engine);
    });
  }
}

/** Whether every migration was done, and none that this version does not know. */
export async function isCurrent<Tables>(
  store: Sql<Tables>,
  migrations: readonly Migration[],
): Promise<boolean> {
  const done = await readDone(store);
  return done.length === migrations.length && migrations.every(({ name }) => done.includes(name));
}

export async function makeMarks(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists migrations (name text primary key)`.execute(db);
}

/** A row where the table of migrations is there. */
const findTable = {
  sqlite: sql`select 1 from sqlite_schema where name = 'migrations'`,
  postgres: sql`select 1 where to_regclass('migrations') is not null`,
};

/** The marks in a database: of the migrations that were done, and of a copy into it. */
export async function readDone<Tables>(store: Sql<Tables>): Promise<readonly string[]> {
  const found = await findTable[store.engine].execute(store.db);
  if (found.rows.length === 0) return [];
  const { rows } = await sql<{ name: string }>`select name from migrations`.execute(store.db);
  return rows.map((row) => row.name);
}
