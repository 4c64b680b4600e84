import { createHash, type Hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { sql, type Kysely } from "kysely";
import { copyMark, type CopiedTable, type CopiedTables } from "../sql/migrate.ts";
import { listTables, readEngine } from "../sql/open-kysely.ts";
import { CopyFault } from "./copy-fault.ts";

type DatabaseCopy = {
  readonly copied: CopiedTables;
  /** The place of the source, which no other source has. */
  readonly source: string;
  /** Nothing else may write to it during the copy. */
  readonly from: Kysely<unknown>;
  /** A transaction, so that all tables appear at once. */
  readonly to: Kysely<unknown>;
  /** Called with the number of rows that were copied since the last call. */
  readonly follow: (rows: number) => void;
  readonly signal: AbortSignal;
};

export type CopiedCount = { readonly table: string; readonly rows: number };

type Cell = string | number | null;
type Row = Readonly<Record<string, Cell>>;

const firstRows = 16;
const mostRows = 1000;
/** How many characters are in memory at once: a cell may be a word or a whole file. */
const pageSize = 1_000_000;
/** Both engines accept this many values in one statement. */
const mostValues = 8000;

/**
 * Makes the tables in the target, fills them, and compares how many rows each has. The target keeps
 * a digest of the rows: a command that is interrupted before the source is marked as moved finds
 * its copy again (`findCopy`).
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
      // SQLite answers at once, so Ctrl-C would never have its turn.
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

/** Counts the rows of the source if a target with these marks is its copy; else undefined. */
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

function addRows(digest: Hash, rows: readonly Row[]): void {
  digest.update(JSON.stringify(rows));
}

export async function countRows(db: Kysely<unknown>, { name }: CopiedTable): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select count(*) as "rows" from ${sql.table(name)}
  `.execute(db);
  return rows[0]?.rows ?? 0;
}

/** Whether a database has tables of ours already. */
export async function hasTables(db: Kysely<unknown>, { migrations }: CopiedTables) {
  return (await listTables(db)).includes(migrations.table);
}

async function* readPages(
  db: Kysely<unknown>,
  { name, key }: CopiedTable,
): AsyncGenerator<readonly Row[]> {
  const keys = sql.join(key.map((column) => sql.ref(column)));
  let rest = sql``;
  for (let limit = firstRows; ;) {
    // SQLite shows its own row number only when it is named.
    const { rows } = await sql<Row>`
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

function chooseLimit(rows: readonly Row[], limit: number): number {
  const cells = rows.flatMap((row) => Object.values(row));
  const size = cells.reduce<number>((sum, cell) => sum + String(cell).length, 1);
  const fitting = Math.floor((rows.length * pageSize) / size);
  return Math.max(1, Math.min(mostRows, limit * 2, fitting));
}

async function insertRows(
  db: Kysely<unknown>,
  { name, leaves = [] }: CopiedTable,
  rows: readonly Row[],
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
