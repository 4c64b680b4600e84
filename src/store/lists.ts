import { sql, type RawBuilder, type SqlBool } from "kysely";
import { describePage, type Meta } from "../contract/fields.ts";
import {
  isTextual,
  type Filter,
  type ListQuery,
  type Sort,
  type FieldTest,
} from "../contract/filters.ts";
import { fold } from "../contract/text.ts";
import { readEngine } from "../sql/open-kysely.ts";
import type { Db } from "./tables.ts";

/**
 * Converts list queries to SQL: filters, sorting and pages. Column names come only from our own
 * code, and values are always bound as parameters.
 */

export type ListPage<Item> = { readonly items: readonly Item[]; readonly meta: Meta };

export type ListSource = {
  readonly table: string;
  readonly shown?: readonly string[];
  readonly columns: ListColumns;
  /** The condition for the rows of the project. */
  readonly ownRows: RawBuilder<SqlBool>;
  /** True if an index for a filter finds rows faster than the index for `ownRows`. */
  readonly hasQuickFilter?: boolean;
};

/**
 * Up to this many matches are collected and then sorted. With more, reading an index in sort order
 * is faster, because matches are frequent.
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

/** Reads one page. `count` is the number of matching rows, as counted by the caller. */
export async function readPage<Row>(
  db: Db,
  source: ListSource,
  query: ListQuery,
  count: number,
): Promise<ListPage<Row>> {
  const meta = describePage(query, count);
  if (meta.from === 0) return { items: [], meta };
  const table = sql.table(source.table);
  const order = sortsToSql(query.sorts, source.columns);
  // Only ids are skipped and sorted, because whole rows would take many times longer.
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

export function matchesToSql(source: ListSource, query: ListQuery): RawBuilder<SqlBool> {
  const { columns, ownRows, hasQuickFilter = false } = source;
  const own = hasQuickFilter ? withoutIndex(ownRows) : ownRows;
  return sql<SqlBool>`${own} and ${filtersToSql(query.filters, columns)}`;
}

/** Wraps a condition so that neither SQLite nor PostgreSQL uses an index for it. */
function withoutIndex(condition: RawBuilder<SqlBool>): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${condition}) is true`;
}

function writeColumns({ shown }: ListSource): RawBuilder<unknown> {
  return shown === undefined ? sql`*` : sql.join(shown.map((column) => sql.ref(column)));
}

export type TextColumn = {
  readonly column: string;
  /** The indexed column with the case-folded text. */
  readonly folded: string;
  readonly isNullable: boolean;
  /** Returns a condition that uses the trigram index, or undefined if that index cannot be used. */
  readonly contains?: (folded: string) => RawBuilder<SqlBool> | undefined;
  /** True if the column has no index for sorting. */
  readonly isUnsorted?: true;
};
/** A column in the table of the link's app. */
export type AppColumn = {
  readonly app: { readonly table: string; readonly projectId: string };
  readonly key: string;
  readonly text: TextColumn;
  /** The app's column to use when `text` is null. */
  readonly otherwise?: TextColumn;
};
/** The paths of a project's links, in the table `addresses`. */
type AddressColumn = { readonly addressesOf: string };
/** A column of numbers or times. `text` is its text form, for the conditions `cont` and `start`. */
type PlainColumn = { readonly column: string; readonly text: RawBuilder<string> };
type ListColumn = TextColumn | AppColumn | AddressColumn | PlainColumn;
export type ListColumns = Readonly<Record<string, ListColumn>>;

type Expression = RawBuilder<SqlBool>;

const nothing = sql<SqlBool>`1 = 0`;

/** Joins the filters with AND. Without filters, every row matches. */
function filtersToSql(filters: readonly Filter[], columns: ListColumns): Expression {
  const parts = filters.map(({ join, tests }) => {
    const alternatives = tests.map((test) => testToSql(test, columns));
    return sql`(${sql.join(alternatives, join === "or" ? sql` or ` : sql` and `)})`;
  });
  return parts.length === 0 ? sql<SqlBool>`1 = 1` : sql<SqlBool>`${sql.join(parts, sql` and `)}`;
}

/**
 * Sorts by the given keys, then by creation time and id in the direction of the last key. So every
 * order is unambiguous and can use an index.
 */
function sortsToSql(sorts: readonly Sort[], columns: ListColumns): RawBuilder<unknown> {
  const keys = findSortKeys(sorts, columns);
  const parts = keys.map(({ column, direction }) => sortKey(column, direction === "asc"));
  parts.push(keys.at(-1)?.direction === "asc" ? sql`id asc` : sql`id desc`);
  return sql.join(parts, sql`, `);
}

function sortColumnsToSql(sorts: readonly Sort[], columns: ListColumns): RawBuilder<unknown> {
  const names = findSortKeys(sorts, columns).map(({ column }) =>
    "app" in column ? column.key : "folded" in column ? column.folded : column.column,
  );
  return sql.join([...new Set(names)].map((name) => sql.ref(name)));
}

function findSortKeys(sorts: readonly Sort[], columns: ListColumns) {
  const last = { field: time, direction: sorts.at(-1)?.direction ?? "desc" } as const;
  const keys = sorts.some(({ field }) => field === time) ? sorts : [...sorts, last];
  return keys.flatMap(({ field, direction }) => {
    const column = columns[field];
    return column === undefined || "addressesOf" in column ? [] : [{ column, direction }];
  });
}

const time = "created_at";

/** Sorts nulls like PostgreSQL: last when ascending, first when descending. */
function sortKey(
  column: Exclude<ListColumn, AddressColumn>,
  isAscending: boolean,
): RawBuilder<unknown> {
  const direction = isAscending ? sql`asc` : sql`desc`;
  const nulls = isAscending ? sql`nulls last` : sql`nulls first`;
  if ("app" in column) return sql`${readAppText(column)} ${direction} ${nulls}`;
  if (!("folded" in column)) return sql`${sql.ref(column.column)} ${direction}`;
  // On a column without nulls, `nulls` would only stop SQLite from using the index.
  return column.isNullable
    ? sql`${sql.ref(column.folded)} ${direction} ${nulls}`
    : sql`${sql.ref(column.folded)} ${direction}`;
}

/** Whether the trigram index or the path index can find all matches of this filter. */
export function isQuickFilter({ join, tests }: Filter, columns: ListColumns): boolean {
  const isQuick = (test: FieldTest) => {
    const column = columns[test.field];
    if (column === undefined) return false;
    if ("addressesOf" in column) return true;
    return "folded" in column && findInside(test, column) !== undefined;
  };
  return join === "or" ? tests.every(isQuick) : tests.some(isQuick);
}

/** Returns a condition for the trigram index, or undefined if the test cannot use that index. */
function findInside({ condition, value }: FieldTest, column: TextColumn): Expression | undefined {
  const isServed = condition === "cont" || column.isUnsorted === true;
  if (!isServed || column.contains === undefined) return undefined;
  const texts = [value].flat().filter((item) => typeof item === "string");
  if (!textual.has(condition) || texts.length === 0) return undefined;
  const found = texts.map((text) => column.contains?.(fold(text)));
  if (found.includes(undefined)) return undefined;
  return sql<SqlBool>`(${sql.join(found, sql` or `)})`;
}

/** If a field meets one of these conditions, it contains the filter's text. */
const textual: ReadonlySet<string> = new Set(["cont", "start", "eq", "in"]);

function testToSql(test: FieldTest, columns: ListColumns): Expression {
  const column = columns[test.field];
  if (column === undefined) throw new Error(`no column for the field ${test.field}`);
  if ("app" in column) return appTestToSql(test, column);
  if ("addressesOf" in column) return addressTestToSql(test, column);
  if ("folded" in column) return textTestToSql(test, column);
  if (isTextual(test.condition)) return printedTestToSql(test, column);
  return plainTestToSql(test, sql.ref(column.column));
}

/** Compares a number or time as text, independently of the database's collation. */
function printedTestToSql({ condition, value }: FieldTest, { text }: PlainColumn): Expression {
  if (typeof value !== "string") return nothing;
  const folded = fold(value);
  if (condition === "cont") return containsText(text, folded);
  return sql<SqlBool>`substr(${text}, 1, ${sql.lit(Array.from(folded).length)}) = ${folded}`;
}

function appTestToSql(test: FieldTest, column: AppColumn): Expression {
  const key = sql.ref(column.key);
  // Every app has an identifier, so the field is null only for links without an app.
  if (test.condition === "null" || test.condition === "present") {
    return plainTestToSql(test, key);
  }
  const found = sql`
    select id from ${sql.table(column.app.table)}
    where project_id = ${column.app.projectId} and ${appTextToSql(test, column)}
  `;
  // At most one app matches. With `=`, one index can both find and sort the links.
  return test.condition === "eq" && column.otherwise === undefined
    ? sql<SqlBool>`${key} = (${found})`
    : sql<SqlBool>`${key} in (${found})`;
}

function appTextToSql(test: FieldTest, { text, otherwise }: AppColumn): Expression {
  if (otherwise === undefined) return textTestToSql(test, text);
  const isSet = textTestToSql({ ...test, condition: "present", value: true }, text);
  return sql<SqlBool>`
    case when ${isSet} then ${textTestToSql(test, text)} else ${textTestToSql(test, otherwise)} end
  `;
}

function addressTestToSql({ value }: FieldTest, { addressesOf }: AddressColumn): Expression {
  const addresses = [value].flat().filter((item) => typeof item === "string");
  // Names the project again so that the index on IDs is used: `ownRows` may be without one.
  return sql<SqlBool>`(links.project_id = ${addressesOf} and links.id in (
    select link_id from addresses
    where project_id = ${addressesOf} and address in (${sql.join(addresses)})
  ))`;
}

function textTestToSql(test: FieldTest, column: TextColumn): Expression {
  const inside = test.condition === "cont" ? undefined : findInside(test, column);
  const exact = compareText(test, column);
  return inside === undefined ? exact : sql<SqlBool>`(${inside} and ${exact})`;
}

function compareText(test: FieldTest, column: TextColumn): Expression {
  const raw = sql.ref(column.column);
  const folded = sql.ref(column.folded);
  const { condition, value } = test;
  if (condition === "eq" || condition === "in") {
    const values = [value].flat().filter((item) => typeof item === "string");
    if (values.length === 0) return nothing;
    const foldedValues = sql.join(values.map(fold));
    return sql<SqlBool>`(${folded} in (${foldedValues}) and ${raw} in (${sql.join(values)}))`;
  }
  if (condition === "cont" && typeof value === "string") {
    return column.contains?.(fold(value)) ?? containsText(folded, fold(value));
  }
  if (condition === "start" && typeof value === "string") return startsWith(folded, fold(value));
  // The case-folded column is null whenever the text is null, and it has an index.
  if (condition === "null" || condition === "present") return plainTestToSql(test, folded);
  return plainTestToSql(test, raw);
}

function plainTestToSql({ condition, value }: FieldTest, raw: RawBuilder<unknown>): Expression {
  switch (condition) {
    case "null":
    case "present":
      return (condition === "null") === value
        ? sql<SqlBool>`${raw} is null`
        : sql<SqlBool>`${raw} is not null`;
    case "in": {
      const values = Array.isArray(value) ? value.filter((item) => item !== null) : [];
      return values.length === 0 ? nothing : sql<SqlBool>`${raw} in (${sql.join(values)})`;
    }
    case "not_eq":
      // A value that could not be parsed is different from every stored value.
      return value === null ? sql<SqlBool>`${raw} is not null` : sql<SqlBool>`${raw} <> ${value}`;
    case "eq":
      return value === null ? nothing : sql<SqlBool>`${raw} = ${value}`;
    case "gt":
    case "gteq":
    case "lt":
    case "lteq":
      return value === null ? nothing : sql<SqlBool>`${raw} ${operators[condition]} ${value}`;
    case "cont":
    case "start":
      return nothing;
  }
}

const operators = { gt: sql`>`, gteq: sql`>=`, lt: sql`<`, lteq: sql`<=` } as const;

function containsText(folded: RawBuilder<unknown>, text: string): Expression {
  const pattern = `%${text.replace(/[\\%_]/g, "\\$&")}%`;
  return sql<SqlBool>`${folded} like ${pattern} escape '\\'`;
}

/** Compares with a range, because LIKE would not use the index. */
function startsWith(folded: RawBuilder<unknown>, text: string): Expression {
  const end = findNextText(text);
  return end === undefined
    ? sql<SqlBool>`${folded} >= ${text}`
    : sql<SqlBool>`(${folded} >= ${text} and ${folded} < ${end})`;
}

/** Returns the first string, in code point order, that sorts after all strings with this prefix. */
function findNextText(text: string): string | undefined {
  const points = Array.from(text);
  while (points.length > 0) {
    const point = points.pop()?.codePointAt(0) ?? 0;
    if (point === 0x10ffff) continue;
    // Surrogates are not characters, so U+E000 follows U+D7FF.
    const next = point === 0xd7ff ? 0xe000 : point + 1;
    return points.join("") + String.fromCodePoint(next);
  }
  return undefined;
}

export function describeNumber(column: string): PlainColumn {
  return { column, text: sql<string>`cast(${sql.ref(column)} as text)` };
}

/** Describes a time column. Its text form is in lower case: `2026-01-16t00:00:00.000z`. */
export function describeTime(db: Db, column: string): PlainColumn {
  return { column, text: timeWriters[readEngine(db)](sql.ref(column)) };
}

const timeWriters = {
  sqlite: (time: RawBuilder<unknown>) => sql<string>`
    (strftime('%Y-%m-%dt%H:%M:%S', ${time} / 1000, 'unixepoch') || printf('.%03dz', ${time} % 1000))
  `,
  postgres: (time: RawBuilder<unknown>) => sql<string>`
    to_char(to_timestamp(${time} / 1000) at time zone 'UTC', 'YYYY-MM-DD"t"HH24:MI:SS')
    || to_char(${time} % 1000, 'FM"."000"z"')
  `,
};

function readAppText({ app, key, text }: AppColumn): RawBuilder<unknown> {
  const table = sql.table(app.table);
  return sql`(
    select ${sql.ref(text.folded)} from ${table}
    where ${table}.project_id = ${app.projectId} and ${table}.id = ${sql.ref(key)}
  )`;
}
