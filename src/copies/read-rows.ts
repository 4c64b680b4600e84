import { sql, type Kysely } from "kysely";
import type { CopiedTable } from "../sql/copied-tables.ts";
import type { Cell, Row } from "./row-digest.ts";

/** Rows of one table, some at a time: what they hold may be a word or a whole file. */

const firstRows = 16;
const mostRows = 1000;
/** What is held at once, in characters. */
const wantedSize = 1_000_000;

export async function* readRows(
  db: Kysely<unknown>,
  { name, key }: CopiedTable,
  columns: readonly string[],
): AsyncGenerator<readonly Row[]> {
  let after: readonly Cell[] | undefined;
  for (let limit = firstRows; ;) {
    const selected = sql.join(
      [...columns, ...key].map((column, at) => {
        // A column of the key may be among the others, or be left out of the copy.
        return sql`${sql.ref(column)} as ${sql.ref(`c${at}`)}`;
      }),
    );
    const order = sql.join(key.map((column) => sql.ref(column)));
    const rest = after === undefined ? sql`` : sql`where (${order}) > (${sql.join([...after])})`;
    const { rows } = await sql<Readonly<Record<string, Cell>>>`
      select ${selected} from ${sql.table(name)} ${rest} order by ${order} limit ${limit}
    `.execute(db);
    // Named by their place, for two of them may have the same name.
    const cells = rows.map((row) => Object.values(row));
    const page = cells.map((row) => row.slice(0, columns.length));
    if (page.length > 0) yield page;
    if (rows.length < limit) return;
    after = cells.at(-1)?.slice(columns.length);
    limit = chooseLimit(page, limit);
  }
}

function chooseLimit(page: readonly Row[], limit: number): number {
  const size = page.flat().reduce<number>((sum, cell) => sum + String(cell).length, 1);
  const fitting = Math.floor((page.length * wantedSize) / size);
  return Math.max(1, Math.min(mostRows, limit * 2, fitting));
}
