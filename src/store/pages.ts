import { sql, type RawBuilder, type SqlBool } from "kysely";
import type { Meta } from "../contract/fields.ts";
import type { ListQuery } from "../contract/filters.ts";
import { filtersToSql, sortColumnsToSql, sortsToSql, type Columns } from "./filters.ts";
import type { Db } from "./tenant.ts";

/** Pages of a list: the rows, and the envelope as pagy numbers it (link-services.md §2). */

export type Page<Item> = { readonly items: readonly Item[]; readonly meta: Meta };

export type ListSource = {
  readonly table: string;
  /** The columns to read; all of them where this is left out. */
  readonly shown?: readonly string[];
  readonly columns: Columns;
  /** Which rows the list is of, before any filter: the project's. */
  readonly within: RawBuilder<SqlBool>;
  /** The same condition, said so that the engine looks for the matching rows by other means. */
  readonly sought?: RawBuilder<SqlBool>;
};

/** Up to so many matching rows are gathered before they are put in order. */
const gatheredUpTo = 2000;
/** From this offset on the skipped rows are read from the index alone, and the page by its ids. */
const deferredFrom = 500;

export async function countRows(db: Db, source: ListSource, query: ListQuery): Promise<number> {
  const where = whereOf(source, source.sought ?? source.within, query);
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from ${sql.table(source.table)} where ${where}
  `.execute(db);
  return rows[0]?.total ?? 0;
}

/** The rows of one page, given how many there are in all. */
export async function readPage<Row>(
  db: Db,
  source: ListSource,
  query: ListQuery,
  count: number,
): Promise<readonly Row[]> {
  const meta = describePage(query, count);
  if (meta.from === 0) return [];
  const length = meta.to - meta.from + 1;
  const skipped = meta.from - 1;
  // The far half of a long list is nearer from its end.
  const isReversed = skipped > count / 2;
  const offset = isReversed ? count - meta.to : skipped;
  const order = sortsToSql(query.sorts, source.columns, isReversed);
  const slice = sql`order by ${order} limit ${length} offset ${offset}`;
  const isFew = query.filters.length > 0 && count <= gatheredUpTo;
  const isNear = offset < deferredFrom;
  const statement =
    isNear && !isFew
      ? walk<Row>(source, query, slice)
      : leap<Row>(source, isFew ? gather(source, query) : aim(source, query), slice, order);
  const { rows } = await statement.execute(db);
  return isReversed ? rows.toReversed() : rows;
}

type Part = RawBuilder<unknown>;

/** Straight along the order: the next rows that match are near, for many do. */
function walk<Row>(source: ListSource, query: ListQuery, slice: Part): RawBuilder<Row> {
  const where = whereOf(source, source.within, query);
  const shown = shownOf(source);
  return sql<Row>`select ${shown} from ${sql.table(source.table)} where ${where} ${slice}`;
}

/** First to the ids of the page, by indexes alone if they suffice, and only then to its rows. */
function leap<Row>(source: ListSource, from: Part, slice: Part, order: Part): RawBuilder<Row> {
  const table = sql.table(source.table);
  return sql<Row>`
    with hits as ${from},
    page as materialized (select id from hits as ${table} ${slice}),
    found as materialized (
      select * from ${table} where ${source.within} and id in (select id from page)
    )
    select ${shownOf(source)} from found as ${table} order by ${order}
  `;
}

/** The few that match, before any order: who looks for the order first walks through all others. */
function gather(source: ListSource, query: ListQuery): Part {
  const columns = sortColumnsToSql(query.sorts, source.columns);
  const where = whereOf(source, source.sought ?? source.within, query);
  return sql`materialized (select id, ${columns} from ${sql.table(source.table)} where ${where})`;
}

/** Many rows that are to be skipped: not gathered, but counted off along the order. */
function aim(source: ListSource, query: ListQuery): Part {
  const columns = sortColumnsToSql(query.sorts, source.columns);
  const where = whereOf(source, source.within, query);
  return sql`not materialized (
    select id, ${columns} from ${sql.table(source.table)} where ${where}
  )`;
}

function whereOf(source: ListSource, within: Part, query: ListQuery): RawBuilder<SqlBool> {
  return sql<SqlBool>`${within} and ${filtersToSql(query.filters, source.columns)}`;
}

function shownOf({ shown }: ListSource): Part {
  return shown === undefined ? sql`*` : sql.join(shown.map((column) => sql.ref(column)));
}

export function describePage({ page, limit }: ListQuery, count: number): Meta {
  const last = Math.max(1, Math.ceil(count / limit));
  const isPast = page > last;
  const isEmpty = isPast || count === 0;
  return {
    page,
    limit,
    count,
    last,
    from: isEmpty ? 0 : (page - 1) * limit + 1,
    to: isEmpty ? 0 : Math.min(page * limit, count),
    ...(page > 1 && { previous: isPast ? last : page - 1 }),
    ...(page < last && { next: page + 1 }),
  };
}
