import { sql, type RawBuilder, type SqlBool } from "kysely";
import { describePage } from "../contract/describe-page.ts";
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
  /** Which rows belong to the list before any filter: the project's. */
  readonly ownRows: RawBuilder<SqlBool>;
  /** A filter has an index that finds its rows sooner than an index of the project's rows. */
  readonly hasQuickFilter?: boolean;
};

/**
 * Up to this many matching rows are collected by an index of the filters and then sorted. When
 * more rows match, the page is read along an index of the order, where the next match is near.
 */
const mostCollected = 10_000;

export function areCollected({ filters, count_to }: ListQuery, count: number): boolean {
  return filters.length > 0 && count <= Math.min(mostCollected, count_to ?? mostCollected);
}

export async function countRows(db: Db, source: ListSource, query: ListQuery): Promise<number> {
  const where = matchesToSql(source, query);
  const most = query.count_to === undefined ? sql`` : sql`limit ${query.count_to + 1}`;
  const { rows } = await sql<{ total: number }>`
    select count(*) as total
    from (select 1 from ${sql.table(source.table)} where ${where} ${most}) as matching
  `.execute(db);
  return rows[0]?.total ?? 0;
}

/** One page, given how many rows match. */
export async function readPage<Row>(
  db: Db,
  source: ListSource,
  query: ListQuery,
  count: number,
): Promise<Page<Row>> {
  const meta = describePage(query, count);
  if (meta.from === 0) return { items: [], meta };
  const table = sql.table(source.table);
  const order = sortsToSql(query.sorts, source.columns);
  // The ids come first: whole rows would be skipped and sorted at many times the cost.
  const { rows } = await sql<Row>`
    with matching as ${selectMatching(source, query, areCollected(query, count))},
    page as materialized (
      select id from matching as ${table}
      order by ${order} limit ${meta.to - meta.from + 1} offset ${meta.from - 1}
    ),
    found as materialized (
      select * from ${table} where ${source.ownRows} and id in (select id from page)
    )
    select ${writeColumns(source)} from found as ${table} order by ${order}
  `.execute(db);
  return { items: rows, meta };
}

function selectMatching(
  source: ListSource,
  query: ListQuery,
  isCollected: boolean,
): RawBuilder<unknown> {
  const { table, columns, ownRows } = source;
  const filters = filtersToSql(query.filters, columns);
  const where = isCollected
    ? matchesToSql(source, query)
    : sql`${ownRows} and ${withoutIndex(filters)}`;
  const names = sortColumnsToSql(query.sorts, columns);
  const matching = sql`(select id, ${names} from ${sql.table(table)} where ${where})`;
  return isCollected ? sql`materialized ${matching}` : sql`not materialized ${matching}`;
}

/** The list's rows that match the filters. */
export function matchesToSql(source: ListSource, query: ListQuery): RawBuilder<SqlBool> {
  const { columns, ownRows, hasQuickFilter = false } = source;
  const own = hasQuickFilter ? withoutIndex(ownRows) : ownRows;
  return sql<SqlBool>`${own} and ${filtersToSql(query.filters, columns)}`;
}

/** The same condition, written so that neither engine chooses an index for it. */
function withoutIndex(condition: RawBuilder<SqlBool>): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${condition}) is true`;
}

function writeColumns({ shown }: ListSource): RawBuilder<unknown> {
  return shown === undefined ? sql`*` : sql.join(shown.map((column) => sql.ref(column)));
}
