import { sql, type RawBuilder, type SqlBool } from "kysely";
import { describePage } from "../contract/fields.ts";
import type { Filter, ListQuery, Sort } from "../contract/filters.ts";
import type { Link } from "../contract/links.ts";
import { addressField } from "../contract/rules/read-search.ts";
import { whileAwaited } from "../sql/long-reads.ts";
import { readEngine } from "../sql/open-kysely.ts";
import type { ReadSignal, Sql } from "../sql/sql.ts";
import type { Cache } from "./cache.ts";
import {
  areCollected,
  countRows,
  describeNumber,
  describeTime,
  isQuickFilter,
  matchesToSql,
  readPage,
  type AppColumn,
  type ListColumns,
  type ListSource,
  type ListPage,
  type TextColumn,
} from "./lists.ts";
import { visibleColumns, toLink, type VisibleLink } from "./links.ts";
import { readTally, type Tally } from "./projects.ts";
import type { AppKindName, IndexedColumn, LinkTable, Tables, Tenant } from "./tables.ts";
import { matchContains, wholeIndex } from "./trigram-index.ts";

/** Lists and counts links, and defines how each field is filtered and sorted. */

type Lists = {
  readonly counts: Cache<number>;
  readonly readLong: Sql<Tables>["readLong"];
};

/** Lists links. Slow queries run in `readLong`, so that they do not delay visitors. */
export async function listLinks(
  tenant: Tenant,
  { counts, readLong }: Lists,
  query: ListQuery,
  signal: ReadSignal,
): Promise<ListPage<Link>> {
  const tally = await readTally(tenant);
  if (isQuickList(query, tally.links)) return readLinks(tenant, counts, query, tally);
  const { projectId } = tenant;
  return readLong(
    async (db) => readLinks({ db, projectId }, counts, query, await readTally({ db, projectId })),
    { signal, line: projectId },
  );
}

/** Reading or skipping this many rows takes only a few milliseconds. */
const few = 2000;
/** Fields whose values are unique within a project. */
const unique: ReadonlySet<string> = new Set(["path", "shortened_path", addressField]);

/** Whether the list can be read fast, no matter what the links contain. */
function isQuickList({ filters, sorts, ...page }: ListQuery, links: number): boolean {
  if (links <= few) return true;
  const [filter, ...others] = filters;
  if (filter === undefined) return isIndexOrder(sorts) && describePage(page, links).from <= few;
  const [test, ...alternatives] = filter.tests;
  if (test === undefined || others.length > 0 || alternatives.length > 0) return false;
  return unique.has(test.field) && ["eq", "in"].includes(test.condition);
}

function isIndexOrder([sort, ...others]: readonly Sort[]): boolean {
  return others.length === 0 && ["created_at", "path"].includes(sort?.field ?? "created_at");
}

async function readLinks(
  tenant: Tenant,
  counts: Lists["counts"],
  query: ListQuery,
  tally: Tally,
): Promise<ListPage<Link>> {
  const { filters } = query;
  const indexed = describeLinks(tenant, filters, tally.indexed_to === wholeIndex);
  const isWhole = filters.length === 0;
  const count = isWhole ? tally.links : await countFiltered(tenant, counts, indexed, query, tally);
  // The trigram index collects all matches first. If there are many, a scan in sort order is
  // faster.
  const source =
    isWhole || areCollected(query, count) ? indexed : describeLinks(tenant, filters, false);
  const { items, meta } = await readPage<VisibleLink>(tenant.db, source, query, count);
  return { items: items.map(toLink), meta };
}

/** Counts the matching links. The count is cached until the next write to the project. */
async function countFiltered(
  { db, projectId }: Tenant,
  counts: Lists["counts"],
  source: ListSource,
  query: ListQuery,
  { generation, clicked }: Tally,
): Promise<number> {
  const { filters, count_to } = query;
  const isByClicks = filters.some(({ tests }) => tests.some(({ field }) => field === "clicks"));
  const key = JSON.stringify([projectId, generation, isByClicks && clicked, filters, count_to]);
  const count = counts.find(key) ?? (await countRows(db, source, query));
  counts.set(key, count);
  return count;
}

function describeLinks(tenant: Tenant, filters: readonly Filter[], isIndexed: boolean): ListSource {
  const { db, projectId } = tenant;
  const text = (column: IndexedColumn, isNullable = true): TextColumn => ({
    ...describeText(column, isNullable),
    contains: (folded) => (isIndexed ? matchContains(tenant, column, folded) : undefined),
  });
  const columns: ListColumns = {
    name: text("name"),
    path: text("path", false),
    shortened_path: text("shortened_path"),
    url: { ...text("url"), isUnsorted: true },
    social_title: { ...text("social_title"), isUnsorted: true },
    ios_fallback_url: describeText("ios_fallback_url"),
    android_fallback_url: describeText("android_fallback_url"),
    referrer: describeText("referrer"),
    [addressField]: { addressesOf: projectId },
    clicks: describeNumber("links.clicks"),
    created_at: describeTime(db, "links.created_at"),
    created_via: { column: "links.created_via", folded: "links.created_via", isNullable: false },
    ios_app_bundle_id: describeAppText(projectId, "ios_app", "bundle_id"),
    android_app_package_name: describeAppText(projectId, "android_app", "package_name"),
    ios_app_name: describeAppName(projectId, "ios_app", "bundle_id"),
    android_app_name: describeAppName(projectId, "android_app", "package_name"),
  };
  const isOwn = sql<SqlBool>`links.project_id = ${projectId}`;
  const isFile = readEngine(db) === "sqlite";
  return {
    table: "links",
    shown: visibleColumns,
    columns,
    ownRows: isFile ? sql<SqlBool>`${whileAwaited(sql`links.rowkey`)} and ${isOwn}` : isOwn,
    hasQuickFilter: filters.some((filter) => isQuickFilter(filter, columns)),
  };
}

function describeText(column: keyof LinkTable, isNullable = true): TextColumn {
  return { column: `links.${column}`, folded: `links.${column}_lc`, isNullable };
}

function describeAppText(projectId: string, app: AppKindName, field: string): AppColumn {
  return {
    app: { table: `${app}s`, projectId },
    key: `links.${app}_id`,
    text: { column: field, folded: `${field}_lc`, isNullable: false },
  };
}

/** Describes the column of the app's name. Apps without a name are matched by their identifier. */
function describeAppName(projectId: string, app: AppKindName, identifier: string): AppColumn {
  const text = { column: "name", folded: "name_lc", isNullable: true };
  const named = describeAppText(projectId, app, identifier);
  return { ...named, text, otherwise: named.text };
}

/** Conditions that select the visit counters of links. */
export type LinkScope = {
  /** The condition for one sum over all selected links. */
  readonly together: RawBuilder<SqlBool>;
  /** The condition for a separate sum per link. */
  readonly apart: RawBuilder<SqlBool>;
};

/** Selects all links of a project, including deleted ones. */
export const allLinks: LinkScope = {
  together: sql<SqlBool>`link_id = ''`,
  apart: sql<SqlBool>`link_id > ''`,
};

export function chooseLinks(ids: readonly string[]): LinkScope {
  const areTheirs =
    ids.length === 0 ? sql<SqlBool>`1 = 0` : sql<SqlBool>`link_id in (${sql.join(ids)})`;
  return { together: areTheirs, apart: areTheirs };
}

/** Up to this many links, looking up each link's counters is faster than a scan. */
const mostLookedUp = 100;

/** Selects and counts the matching links. If `id` is set, only that link can match. */
export async function matchLinks(
  tenant: Tenant,
  filters: readonly Filter[],
  id: string | undefined,
): Promise<LinkScope & { readonly count: number }> {
  const matching = await selectMatching(tenant, filters, id);
  const { rows } = await sql<{ readonly id: string }>`
    ${matching} limit ${mostLookedUp + 1}
  `.execute(tenant.db);
  const ids = rows.map((row) => row.id);
  if (ids.length <= mostLookedUp) return { ...chooseLinks(ids), count: ids.length };
  const counted = await sql<{ readonly count: number }>`
    select count(*) as count from (${matching}) as matching
  `.execute(tenant.db);
  // The concatenation prevents an index lookup for each link, which would be slower.
  const areTheirs = sql<SqlBool>`link_id || '' in (${matching})`;
  return { together: areTheirs, apart: areTheirs, count: counted.rows[0]?.count ?? 0 };
}

async function selectMatching(
  tenant: Tenant,
  filters: readonly Filter[],
  id: string | undefined,
): Promise<RawBuilder<unknown>> {
  const { indexed_to } = await readTally(tenant);
  const query = { page: 1, limit: 1, sorts: [], filters };
  const source = describeLinks(tenant, filters, indexed_to === wholeIndex);
  const isOne = id === undefined ? sql`1 = 1` : sql`links.id = ${id}`;
  return sql`select id from links where ${matchesToSql(source, query)} and ${isOne}`;
}
