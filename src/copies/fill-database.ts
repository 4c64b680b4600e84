import { sql, type Kysely } from "kysely";
import { readCopyMark, writeCopyMark, type CopyMark } from "../sql/copy-mark.ts";
import { listUpTo } from "../sql/copied-tables.ts";
import { makeMarks, runMigrations } from "../sql/migrate.ts";
import { CopyFault, type CopiedDatabase } from "./copied-database.ts";
import type { Row } from "./row-digest.ts";

/**
 * A database that a copy is put into, in many short transactions. From the first to the last of
 * them it has a mark, so that no process opens what is half there, and a copy that was killed can
 * be begun anew.
 */

export type Filling = {
  /** As they were at this level of migrations. */
  readonly makeTables: (level: number) => Promise<void>;
  readonly insert: (
    table: string,
    columns: readonly string[],
    rows: readonly Row[],
  ) => Promise<void>;
  /** Goes on holding the database while nothing is written to it. */
  readonly hold: () => Promise<void>;
  /** Brings the tables up to date, and opens the database to others. */
  readonly finish: () => Promise<void>;
  /** Takes everything back, and what `undo` does as well, so that another copy may be put there. */
  readonly abandon: (undo: () => void) => Promise<void>;
};

export type Claim = { readonly id: string; readonly now: () => number };

/** One that was killed holds the database up for no longer; a batch takes far less. */
const lease_ms = 15_000;
/** Every engine takes so many values with one statement. */
const mostValues = 8000;

const tooOld =
  "it is of a version that PostgreSQL's tables never had: restore it into a folder, then migrate";

/** Whether a copy into it was begun and did not end; nothing else may be in it. */
export async function isHalfFilled({ sql: { db } }: CopiedDatabase): Promise<boolean> {
  return (await readMark(db)) !== undefined;
}

/** Makes the database the claimer's own, where nothing is in it but a copy that did not end. */
export async function claimDatabase(
  { sql: store, copied }: CopiedDatabase,
  { id, now }: Claim,
  isOurs: boolean,
): Promise<Filling> {
  const migrations = copied.migrations[store.engine];
  let mark: CopyMark = { id, until: now() + lease_ms };
  await store.write(async (db) => {
    if (!isOurs) await requireFree(db, now());
    await dropTables(db);
    await makeMarks(db);
    await sql`insert into migrations (name) values (${writeCopyMark(mark)})`.execute(db);
  });

  /** In a transaction of its own or another one's: whoever has lost the database writes nothing. */
  async function renew(db: Kysely<unknown>, next: CopyMark): Promise<void> {
    const { numAffectedRows } = await sql`
      update migrations set name = ${writeCopyMark(next)} where name = ${writeCopyMark(mark)}
    `.execute(db);
    if (numAffectedRows !== 1n) throw new CopyFault("another process copies into it now");
  }

  async function write(work: (db: Kysely<unknown>) => Promise<void>): Promise<void> {
    const next = { id, until: now() + lease_ms };
    await store.write(async (db) => {
      await renew(db, next);
      await work(db);
    });
    mark = next;
  }

  return {
    makeTables: async (level) => {
      const listed = listUpTo(migrations, level);
      if (level > 0 && listed.length === 0) throw new CopyFault(tooOld);
      await runMigrations(store, listed, []);
    },
    insert: (table, columns, rows) => write((db) => insertRows(db, table, columns, rows)),
    hold: async () => {
      if (mark.until - now() < lease_ms / 2) await write(async () => {});
    },
    finish: async () => {
      await runMigrations(store, migrations, []);
      await write(async (db) => {
        await copied.derive?.(db);
      });
      await store.write(async (db) => {
        await renew(db, mark);
        await sql`delete from migrations where name = ${writeCopyMark(mark)}`.execute(db);
      });
    },
    abandon: (undo) =>
      store.write(async (db) => {
        await renew(db, mark);
        undo();
        await dropTables(db);
      }),
  };
}

/** Throws where the database is somebody's, or another copy into it is under way. */
async function requireFree(db: Kysely<unknown>, now: number): Promise<void> {
  const tables = await listTables(db);
  if (tables.length === 0) return;
  const mark = await readMark(db);
  if (mark === undefined) throw new CopyFault("it is not empty");
  if (mark.until <= now) return;
  const seconds = Math.ceil((mark.until - now) / 1000);
  throw new CopyFault(
    `another process copies into it; where that was ended, try again in ${seconds} seconds`,
  );
}

async function readMark(db: Kysely<unknown>): Promise<CopyMark | undefined> {
  if (!(await listTables(db)).includes("migrations")) return undefined;
  const { rows } = await sql<{ name: string }>`select name from migrations`.execute(db);
  return rows.flatMap(({ name }) => readCopyMark(name) ?? [])[0];
}

async function listTables(db: Kysely<unknown>): Promise<readonly string[]> {
  const tables = await db.introspection.getTables();
  return tables.filter(({ isView }) => !isView).map(({ name }) => name);
}

async function dropTables(db: Kysely<unknown>): Promise<void> {
  for (const table of await listTables(db)) await sql`drop table ${sql.table(table)}`.execute(db);
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
