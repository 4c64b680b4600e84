import { sql, type Kysely } from "kysely";
import { copyUnderWay, isCopyMark } from "./copy-mark.ts";
import { Duplicate, NotMigrated, StoreUnusable } from "./faults.ts";
import type { Engine, Sql } from "./sql.ts";

export type Migration = {
  readonly name: string;
  readonly up: (db: Kysely<unknown>, engine: Engine) => Promise<void>;
};

/** Where those are marked that were done, unless another table is named. */
const ownMarks = "migrations";

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
  marks = ownMarks,
): Promise<void> {
  const done = await readDone(store, marks);
  if (done.some(isCopyMark)) throw new StoreUnusable(copyUnderWay);
  if (!areKnown(done, migrations)) {
    throw new StoreUnusable(
      "The store was made by a newer Waypost. Install that version or newer.",
    );
  }
  if (isLook && done.length < migrations.length) throw new NotMigrated(done.length === 0);
  await runMigrations(store, migrations, done, marks);
}

export function areKnown(names: readonly string[], migrations: readonly Migration[]): boolean {
  return names.every((name) => migrations.some((migration) => migration.name === name));
}

/** Runs each that is not yet done, whatever else is marked. */
export async function runMigrations<Tables>(
  store: Sql<Tables>,
  migrations: readonly Migration[],
  done: readonly string[],
  marks = ownMarks,
): Promise<void> {
  const missing = migrations.filter(({ name }) => !done.includes(name));
  if (missing.length === 0) return;
  await store
    .write((db) => makeMarks(db as unknown as Kysely<unknown>, marks))
    .catch(ignoreDuplicate);
  for (const migration of missing) {
    await store.write(async (typed) => {
      // The tables that Kysely knows are only there once the migrations have run.
      const db = typed as unknown as Kysely<unknown>;
      const marked = await sql`
        insert into ${sql.table(marks)} (name) values (${migration.name}) on conflict do nothing
      `.execute(db);
      if (marked.numAffectedRows === 1n) await migration.up(db, store.engine);
    });
  }
}

/** Whether every migration was done, and none that this version does not know. */
export async function isCurrent<Tables>(
  store: Sql<Tables>,
  migrations: readonly Migration[],
  marks = ownMarks,
): Promise<boolean> {
  const done = await readDone(store, marks);
  return done.length === migrations.length && migrations.every(({ name }) => done.includes(name));
}

export async function makeMarks(db: Kysely<unknown>, marks = ownMarks): Promise<void> {
  await sql`create table if not exists ${sql.table(marks)} (name text primary key)`.execute(db);
}

/** Of two that make a table at once on PostgreSQL, one meets the other's. */
function ignoreDuplicate(error: unknown): void {
  if (!(error instanceof Duplicate)) throw error;
}

/** A row where the table of migrations is there. */
const findTable = {
  sqlite: (name: string) => sql`select 1 from sqlite_schema where name = ${name}`,
  postgres: (name: string) => sql`select 1 where to_regclass(${name}) is not null`,
};

/** The marks in a database: of the migrations that were done, and of a copy into it. */
export async function readDone<Tables>(
  { db, engine }: Sql<Tables>,
  marks = ownMarks,
): Promise<readonly string[]> {
  const found = await findTable[engine](marks).execute(db);
  if (found.rows.length === 0) return [];
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(marks)}`.execute(db);
  return rows.map((row) => row.name);
}
