import { sql, type RawBuilder, type SqlBool } from "kysely";
import type { Meta } from "../contract/fields.ts";
import type { ListQuery } from "../contract/filters.ts";
import { filtersToSql, sortsToSql, type Columns } from "./filters.ts";
import type { Db } from "./tenant.ts";

/** Pages of a list: the rows, and the envelope as pagy numbers it (link-services.md §2). */

export type Page<Item> = {
  readonly items: readonly Item[];
  readonly meta: Meta;
};

export type ListSource = {
  readonly table: string;
  /** The columns to read; all of them where this is left out. */
  readonly shown?: readonly string[];
  readonly columns: Columns;
  /** Which rows the list is of, before any filter: the project's. */
  readonly within: RawBuilder<SqlBool>;
};

/** Up to so many matching rows are gathered before they are put in order. */
const gatheredUpTo = 2000;
/** From this offset on the skipped rows are read from the index alone, and the page by its ids. */
const deferredFrom = 500;

export function whereOf(source: ListSource, query: ListQuery): RawBuilder<SqlBool> {
  const filters = filtersToSql(query.filters, source.columns);
  return sql<SqlBool>`${source.within} and ${filters}`;
}

export async function countRows(db: Db, source: ListSource, query: ListQuery): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from ${sql.table(source.table)} where ${whereOf(source, query)}
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
  const read = isFew ? gather : offset < deferredFrom ? walk : leap;
  const { rows } = await read<Row>(source, whereOf(source, query), slice, order).execute(db);
  return isReversed ? rows.toReversed() : rows;
}

type Part = RawBuilder<unknown>;

/** Straight along the order: the next rows that match are near, for many do. */
function walk<Row>(source: ListSource, where: Part, slice: Part): RawBuilder<Row> {
  const table = sql.table(source.table);
  return sql<Row>`select ${shownOf(source)} from ${table} where ${where} ${slice}`;
}

/**
 * The few that match first, and then their order: an engine that looks for the order first would
 * walk through all the others.
 */
function gather<Row>(source: ListSource, where: Part, slice: Part): RawBuilder<Row> {
  const table = sql.table(source.table);
  return sql<Row>`
    with hits as materialized (select * from ${table} where ${where})
    select ${shownOf(source)} from hits as ${table} ${slice}
  `;
}

/** Far along the order by the index alone, and only then to the rows. */
function leap<Row>(source: ListSource, where: Part, slice: Part, order: Part): RawBuilder<Row> {
  const table = sql.table(source.table);
  return sql<Row>`
    with page as materialized (select id from ${table} where ${where} ${slice}),
    hits as materialized (
      select * from ${table} where ${source.within} and id in (select id from page)
    )
    select ${shownOf(source)} from hits as ${table} order by ${order}
  `;
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
