import { sql, type Kysely } from "kysely";
import { copyUnderWay, isCopyMark } from "./copy-mark.ts";
import { NotMigrated, StoreUnusable } from "./faults.ts";
import type { Engine, Sql } from "./sql.ts";

export type Migration = {
  readonly name: string;
  readonly up: (db: Kysely<unknown>, engine: Engine) => Promise<void>;
};

/** All that there ever were, in order, and the table in which those are marked that were done. */
export type Migrations = { readonly table: string; readonly list: readonly Migration[] };

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
  migrations: Migrations,
  isLook = false,
): Promise<void> {
  const done = await readDone(store, migrations.table);
  if (done.some(isCopyMark)) throw new StoreUnusable(copyUnderWay);
  if (!areKnown(done, migrations)) {
    throw new StoreUnusable(
      "The store was made by a newer Waypost. Install that version or newer.",
    );
  }
  if (done.length === migrations.list.length) return;
  if (isLook) throw new NotMigrated(done.length === 0);
  await runMigrations(store, migrations);
}

export function areKnown(names: readonly string[], { list }: Migrations): boolean {
  return names.every((name) => list.some((migration) => migration.name === name));
}

/** Runs each that is not yet done, whatever else is marked. */
export async function runMigrations<Tables>(
  store: Sql<Tables>,
  { table, list }: Migrations,
): Promise<void> {
  const done = await readDone(store, table);
  await makeTable(store, table);
  for (const migration of list) {
    if (done.includes(migration.name)) continue;
    const work = async (typed: Kysely<Tables>) => {
      // The tables that Kysely knows are only there once the migrations have run.
      const db = typed as unknown as Kysely<unknown>;
      const marked = await sql`
        insert into ${sql.table(table)} (name) values (${migration.name}) on conflict do nothing
      `.execute(db);
      if (marked.numAffectedRows === 1n) await migration.up(db, store.engine);
    };
    await store.write(work, { isLong: true });
  }
}

/** Whether every migration was done, and none that this version does not know. */
export async function isCurrent<Tables>(
  store: Sql<Tables>,
  { table, list }: Migrations,
): Promise<boolean> {
  const done = await readDone(store, table);
  return done.length === list.length && list.every(({ name }) => done.includes(name));
}

async function makeTable<Tables>(store: Sql<Tables>, table: string): Promise<void> {
  const make = sql`create table if not exists ${sql.table(table)} (name text primary key)`;
  await store
    .write((db) => make.execute(db))
    .catch(async (error: unknown) => {
      // Of two that make it at once on PostgreSQL, one fails, and finds the other's.
      if (!(await isThere(store, table))) throw error;
    });
}

/** A row where the table of migrations is there. */
const findTable = {
  sqlite: (table: string) => sql`select 1 from sqlite_schema where name = ${table}`,
  postgres: (table: string) => sql`select 1 where to_regclass(${table}) is not null`,
};

async function isThere<Tables>(
  { db, engine }: Pick<Sql<Tables>, "db" | "engine">,
  table: string,
): Promise<boolean> {
  return (await findTable[engine](table).execute(db)).rows.length > 0;
}

/** The marks in a database: of the migrations that were done, and of a copy into it. */
export async function readDone<Tables>(
  store: Pick<Sql<Tables>, "db" | "engine">,
  table: string,
): Promise<readonly string[]> {
  if (!(await isThere(store, table))) return [];
  const select = sql<{ name: string }>`select name from ${sql.table(table)}`;
  const { rows } = await select.execute(store.db);
  return rows.map((row) => row.name);
}
