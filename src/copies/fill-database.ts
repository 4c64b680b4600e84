import { sql, type Kysely } from "kysely";
import { listTables } from "../sql/list-tables.ts";
import { readEngine } from "../sql/open-kysely.ts";
import { readCopyMark, writeCopyMark, type CopyMark } from "../sql/copy-mark.ts";
import { readDone, runMigrations } from "../sql/migrate.ts";
import { CopyFault, TargetTaken, type CopiedDatabase } from "./copied-database.ts";
import type { Row } from "./row-digest.ts";

/**
 * A database that a copy is put into, in many short transactions. From the first to the last of
 * them it has a mark, so that no process opens what is half there, and a copy that was killed can
 * be begun anew.
 */

export type Filling = {
  readonly makeTables: () => Promise<void>;
  readonly insert: (
    table: string,
    columns: readonly string[],
    rows: readonly Row[],
  ) => Promise<void>;
  /** Goes on holding the database while nothing is written to it. */
  readonly hold: () => Promise<void>;
  /** Opens the database to others. */
  readonly finish: () => Promise<void>;
  /** Takes everything back, and what `undo` does as well, so that another copy may be put there. */
  readonly abandon: (undo: () => void) => Promise<void>;
};

export type Claim = { readonly id: string; readonly now: () => number };

/** One that was killed holds the database up for no longer; a batch takes far less. */
const lease_ms = 15_000;
/** Every engine takes so many values with one statement. */
const mostValues = 8000;

/** Whether a copy into it was begun and did not end; nothing else may be in it. */
export async function isHalfFilled({ sql: { db }, copied }: CopiedDatabase) {
  return (await readMark(db, copied.migrations.table)) !== undefined;
}

/** Makes the database the claimer's own, where nothing is in it but a copy that did not end. */
export async function claimDatabase(
  { sql: store, copied }: CopiedDatabase,
  { id, now }: Claim,
  isOurs: boolean,
): Promise<Filling> {
  const { migrations } = copied;
  const marks = sql.table(migrations.table);
  const copiedNames = copied.tables.map(({ name }) => name);
  const own = [migrations.table, ...copiedNames, ...(copied.left ?? [])];
  let mark: CopyMark = { id, until: now() + lease_ms };
  await store.write(async (db) => {
    if (!isOurs) await requireFree(db, own, migrations.table, now());
    await dropTables(db, own);
    await sql`create table ${marks} (name text primary key)`.execute(db);
    await sql`insert into ${marks} (name) values (${writeCopyMark(mark)})`.execute(db);
  });

  /** In a transaction of its own or another one's: whoever has lost the database writes nothing. */
  async function renew(db: Kysely<unknown>, next: CopyMark): Promise<void> {
    const { numAffectedRows } = await sql`
      update ${marks} set name = ${writeCopyMark(next)} where name = ${writeCopyMark(mark)}
    `.execute(db);
    if (numAffectedRows !== 1n) throw new CopyFault("another process is copying to the same place");
  }

  async function write(work: (db: Kysely<unknown>) => Promise<void>): Promise<void> {
    const next = { id, until: now() + lease_ms };
    await store.write(async (db) => {
      await renew(db, next);
      await work(db);
    });
    mark = next;
  }

  const hold = () => write(async () => {});

  return {
    makeTables: async () => {
      await hold();
      await runMigrations(store, migrations);
    },
    insert: (table, columns, rows) => write((db) => insertRows(db, table, columns, rows)),
    hold: async () => {
      if (mark.until - now() < lease_ms / 2) await hold();
    },
    finish: async () => {
      await hold();
      await store.write(async (db) => {
        await renew(db, mark);
        await copied.derive?.(db);
        await sql`delete from ${marks} where name = ${writeCopyMark(mark)}`.execute(db);
      });
    },
    abandon: (undo) =>
      store.write(async (db) => {
        await renew(db, mark);
        undo();
        await dropTables(db, own);
      }),
  };
}

/** Throws where the database is somebody's, or another copy into it is under way. */
async function requireFree(
  db: Kysely<unknown>,
  own: readonly string[],
  marks: string,
  now: number,
): Promise<void> {
  const tables = await listTables(db);
  if (!tables.some((name) => own.includes(name))) return;
  const mark = await readMark(db, marks);
  if (mark === undefined) throw new TargetTaken();
  if (mark.until <= now) return;
  const seconds = Math.ceil((mark.until - now) / 1000);
  throw new CopyFault(
    `another process is copying to the same place; if it ended, try again in ${seconds} seconds`,
  );
}

async function readMark(db: Kysely<unknown>, marks: string): Promise<CopyMark | undefined> {
  const names = await readDone({ db, engine: readEngine(db) }, marks);
  return names.flatMap((name) => readCopyMark(name) ?? [])[0];
}

async function dropTables(db: Kysely<unknown>, own: readonly string[]): Promise<void> {
  const tables = await listTables(db);
  for (const table of tables.filter((name) => own.includes(name))) {
    await sql`drop table ${sql.table(table)}`.execute(db);
  }
}

async function insertRows(
  db: Kysely<unknown>,
  table: string,
  columns: readonly string[],
  rows: readonly Row[],
): Promise<void> {
  const names = sql.join(columns.map((column) => sql.ref(column)));
  const each = Math.max(1, Math.floor(mostValues / columns.length));
  for (let start = 0; start < rows.length; start += each) {
    const values = rows.slice(start, start + each).map((row) => sql`(${sql.join([...row])})`);
    await sql`insert into ${sql.table(table)} (${names}) values ${sql.join(values)}`.execute(db);
  }
}
