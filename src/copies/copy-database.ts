import { createHash, type Hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { sql, type Kysely } from "kysely";
import {
  copyMark,
  readKnown,
  writeMovedMark,
  type CopiedTable,
  type KnownDatabase,
} from "../sql/migrate.ts";
import { listTables, readEngine } from "../sql/open-kysely.ts";
import { CopyFault } from "./copy-fault.ts";

/** Copies the tables of one database to another, for `waypost migrate`. */
type DatabaseCopy = {
  readonly copied: KnownDatabase;
  /** The path or URL of the source. It is part of the digest. */
  readonly source: string;
  /** The source. It must not change while it is copied. */
  readonly from: Kysely<unknown>;
  /** A transaction in the target. All tables become visible when it commits. */
  readonly to: Kysely<unknown>;
  /** Called with the number of rows copied since the last call, to show progress. */
  readonly follow: (rows: number) => void;
  readonly signal: AbortSignal;
};

export type CopiedCount = { readonly table: string; readonly rows: number };

type CopiedCell = string | number | null;
type CopiedRow = Readonly<Record<string, CopiedCell>>;

const firstRows = 16;
const mostRows = 1000;
/** How many characters to read at once. A cell may contain a single word or a whole file. */
const pageSize = 1_000_000;
/** The maximum number of values in a statement, for both SQLite and PostgreSQL. */
const mostValues = 8000;

/**
 * Creates the tables in the target, copies all rows, and compares the numbers of rows. Then stores
 * a digest of the rows in the target. If the command is interrupted before the source is marked as
 * moved, the next run recognizes the finished copy by its digest (`findCopy`).
 */
export async function copyDatabase(copy: DatabaseCopy): Promise<readonly CopiedCount[]> {
  const { copied, source, from, to, follow, signal } = copy;
  const { migrations, tables } = copied;
  const digest = createHash("sha256").update(source);
  await sql`create table ${sql.table(migrations.table)} (name text primary key)`.execute(to);
  for (const { name, up } of migrations.list) {
    await up(to, readEngine(to));
    await sql`insert into ${sql.table(migrations.table)} (name) values (${name})`.execute(to);
  }
  const counts: CopiedCount[] = [];
  for (const table of tables) {
    for await (const rows of readPages(from, table)) {
      // SQLite calls are synchronous, so Ctrl-C has an effect only during a pause.
      await setImmediate();
      signal.throwIfAborted();
      addRows(digest, rows);
      await insertRows(to, table, rows);
      follow(rows.length);
    }
    const [before, after] = [await countRows(from, table), await countRows(to, table)];
    if (before !== after) {
      throw new CopyFault(`the table ${table.name} has ${before} rows, but its copy has ${after}`);
    }
    counts.push({ table: table.name, rows: after });
  }
  const mark = copyMark + digest.digest("hex");
  await sql`insert into ${sql.table(migrations.table)} (name) values (${mark})`.execute(to);
  return counts;
}

/**
 * Returns the numbers of rows if the target already contains a finished copy of the source. `marks`
 * are the rows of the target's migrations table.
 */
export async function findCopy(
  { copied, source, from }: Pick<DatabaseCopy, "copied" | "source" | "from">,
  marks: readonly string[],
): Promise<readonly CopiedCount[] | undefined> {
  const mark = marks.find((name) => name.startsWith(copyMark));
  if (mark === undefined) return undefined;
  const digest = createHash("sha256").update(source);
  const counts: CopiedCount[] = [];
  for (const table of copied.tables) {
    for await (const rows of readPages(from, table)) addRows(digest, rows);
    counts.push({ table: table.name, rows: await countRows(from, table) });
  }
  return mark === copyMark + digest.digest("hex") ? counts : undefined;
}

function addRows(digest: Hash, rows: readonly CopiedRow[]): void {
  digest.update(JSON.stringify(rows));
}

export async function countRows(
  db: Kysely<unknown>,
  { name }: Pick<CopiedTable, "name">,
): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select count(*) as "rows" from ${sql.table(name)}
  `.execute(db);
  return rows[0]?.rows ?? 0;
}

export async function hasTables(db: Kysely<unknown>, { migrations }: KnownDatabase) {
  return (await listTables(db)).includes(migrations.table);
}

async function* readPages(
  db: Kysely<unknown>,
  { name, key }: CopiedTable,
): AsyncGenerator<readonly CopiedRow[]> {
  const keys = sql.join(key.map((column) => sql.ref(column)));
  let rest = sql``;
  for (let limit = firstRows; ;) {
    // Selects the key by name, because SQLite's `*` does not include the row number.
    const { rows } = await sql<CopiedRow>`
      select ${keys}, ${sql.table(name)}.* from ${sql.table(name)} ${rest}
      order by ${keys} limit ${limit}
    `.execute(db);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    rest = sql`where (${keys}) > (${sql.join(key.map((column) => last[column]))})`;
    limit = chooseLimit(rows, limit);
  }
}

function chooseLimit(rows: readonly CopiedRow[], limit: number): number {
  const cells = rows.flatMap((row) => Object.values(row));
  const size = cells.reduce<number>((sum, cell) => sum + String(cell).length, 1);
  const fitting = Math.floor((rows.length * pageSize) / size);
  return Math.max(1, Math.min(mostRows, limit * 2, fitting));
}

async function insertRows(
  db: Kysely<unknown>,
  { name, leaves = [] }: CopiedTable,
  rows: readonly CopiedRow[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {}).filter((column) => !leaves.includes(column));
  const names = sql.join(columns.map((column) => sql.ref(column)));
  const each = Math.max(1, Math.floor(mostValues / columns.length));
  for (let start = 0; start < rows.length; start += each) {
    const values = rows
      .slice(start, start + each)
      .map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`);
    await sql`insert into ${sql.table(name)} (${names}) values ${sql.join(values)}`.execute(db);
  }
}

/** The lock timeout. It is longer than any write takes. */
const longestWait_ms = 5_000;

/**
 * Limits the wait for locks. A concurrent copy of the same PostgreSQL database would hold its locks
 * until it ends.
 */
export async function limitLockWaits(db: Kysely<unknown>): Promise<void> {
  if (readEngine(db) === "sqlite") return;
  await sql.raw(`set local lock_timeout = ${longestWait_ms}`).execute(db);
}

/**
 * Marks a database as moved, so that Waypost no longer starts with it. On PostgreSQL, no process
 * can write during this transaction, and afterwards, triggers reject the writes of processes that
 * still run. A SQLite file is locked from the start of the copy (`lockSqlite`).
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
  // Turned off, because this transaction is idle while the rows are written to the other database.
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
