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
  /** Which rows the list is of, before any filter: the project's. */
  readonly ownRows: RawBuilder<SqlBool>;
  /** The same condition, written so that the engine finds the matching rows by another index. */
  readonly ownRowsUnindexed?: RawBuilder<SqlBool>;
  /**
   * Where no index helps: the one that goes through the rows as they lie in the file. Any other
   * serves the engine as well to tell which rows they are, and reads them here and there, which
   * takes four times as long.
   */
  readonly scannedBy?: string;
  /**
   * The index that has the rows in the order of the list. Where very many rows match, the next
   * that do are near in it: the engine, which does not know how many, would collect them all.
   */
  readonly walkedBy?: string | undefined;
  /** All rows that match, where one look into an index finds them. */
  readonly matched?: Matched | undefined;
};

export type Matched = {
  /** A query of their keys. */
  readonly keys: RawBuilder<unknown>;
  /** Whether a row is one of them. */
  readonly isOne: RawBuilder<SqlBool>;
};

/** Up to so many matching rows are collected before they are put in order. */
const collectedUpTo = 2000;
/** From this offset on the skipped rows are read from the index alone, and the page by its ids. */
const deferredFrom = 500;

export async function countRows(db: Db, source: ListSource, query: ListQuery): Promise<number> {
  const where = writeWhere(source, source.ownRowsUnindexed ?? source.ownRows, query);
  const from = sql`from ${writeTable(source, source.scannedBy)} where ${where}`;
  const { count_to } = query;
  const found = source.matched?.keys ?? sql`select 1 ${from}`;
  const all = count_to === undefined ? from : sql`from (${found} limit ${count_to + 1}) as counted`;
  const { rows } = await sql<{ total: number }>`select count(*) as total ${all}`.execute(db);
  return rows[0]?.total ?? 0;
}

/** Whether there are more than were counted. */
export function isCountCut({ filters, count_to }: ListQuery, count: number): boolean {
  return filters.length > 0 && count_to !== undefined && count > count_to;
}

/** How many rows match, and how many there are. */
type Counted = { readonly count: number; readonly all: number };

/** One page, given how many rows there are in all. */
export async function readPage<Row>(
  db: Db,
  source: ListSource,
  query: ListQuery,
  { count, all }: Counted,
): Promise<Page<Row>> {
  const meta = describePage(query, count);
  if (meta.from === 0) return { items: [], meta };
  const skipped = meta.from - 1;
  // The far half of a long list is nearer from its end.
  const isCut = isCountCut(query, count);
  const isReversed = !isCut && skipped > count / 2;
  const offset = isReversed ? count - meta.to : skipped;
  const order = sortsToSql(query.sorts, source.columns, isReversed);
  const slice = sql`order by ${order} limit ${meta.to - skipped} offset ${offset}`;
  const mostCollected = source.matched === undefined ? collectedUpTo : count;
  // Of more than were counted nobody knows how many they are.
  const isFew = query.filters.length > 0 && !isCut && count <= mostCollected;
  const isNear = offset < deferredFrom;
  // Of a million rows of which 10,000 match, one in a hundred that are gone through does.
  const isMet = query.filters.length > 0 && (meta.to * all) / count < count;
  const walked = { ...source, walkedBy: isMet ? source.walkedBy : undefined };
  const statement =
    isNear && !isFew
      ? readInOrder<Row>(walked, query, slice)
      : readByIds<Row>(source, selectMatches(walked, query, isFew), slice, order);
  const { rows } = await statement.execute(db);
  return { items: isReversed ? rows.toReversed() : rows, meta };
}

type Part = RawBuilder<unknown>;

/** Goes along the order: where many rows match, the next ones that do are near. */
function readInOrder<Row>(source: ListSource, query: ListQuery, slice: Part): RawBuilder<Row> {
  const where = writeWhere(source, source.ownRows, query);
  const table = writeTable(source, source.walkedBy);
  return sql<Row>`select ${writeColumns(source)} from ${table} where ${where} ${slice}`;
}

/** First finds the ids of the page, by indexes alone if they suffice, and then reads its rows. */
function readByIds<Row>(
  source: ListSource,
  matches: Part,
  slice: Part,
  order: Part,
): RawBuilder<Row> {
  const table = sql.table(source.table);
  return sql<Row>`
    with hits as ${matches},
    page as materialized (select id from hits as ${table} ${slice}),
    found as materialized (
      select * from ${table} where ${source.ownRows} and id in (select id from page)
    )
    select ${writeColumns(source)} from found as ${table} order by ${order}
  `;
}

/**
 * A few matches are collected before they are put in order, because reading along the order goes
 * through all other rows. Many, of which most are skipped, are counted off along the order.
 */
function selectMatches(source: ListSource, query: ListQuery, isFew: boolean): Part {
  const columns = sortColumnsToSql(query.sorts, source.columns);
  const own = (isFew && source.ownRowsUnindexed) || source.ownRows;
  const { matched } = source;
  const where = matched ? sql`${own} and ${matched.isOne}` : writeWhere(source, own, query);
  const table = writeTable(source, isFew ? source.scannedBy : source.walkedBy);
  const matches = sql`(select id, ${columns} from ${table} where ${where})`;
  return isFew ? sql`materialized ${matches}` : sql`not materialized ${matches}`;
}

function writeTable({ table }: ListSource, index: string | undefined): Part {
  return index === undefined
    ? sql.table(table)
    : sql`${sql.table(table)} indexed by ${sql.ref(index)}`;
}

function writeWhere(
  { columns }: ListSource,
  ownRows: Part,
  { filters }: ListQuery,
): RawBuilder<SqlBool> {
  return sql<SqlBool>`${ownRows} and ${filtersToSql(filters, columns)}`;
}

function writeColumns({ shown }: ListSource): Part {
  return shown === undefined ? sql`*` : sql.join(shown.map((column) => sql.ref(column)));
}
