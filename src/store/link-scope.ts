import { sql, type RawBuilder, type SqlBool } from "kysely";
import type { Filter } from "../contract/filters.ts";
import { describeLinks } from "./link-lists.ts";
import { matchesToSql } from "./list-page.ts";
import { readTally } from "./project-tallies.ts";
import type { Tenant } from "./tenant.ts";
import { wholeIndex } from "./trigram-index.ts";

/** Conditions on counters that choose the links whose visits are read. */
export type LinkScope = {
  /** For sums of all these links. */
  readonly together: RawBuilder<SqlBool>;
  /** For one sum of each. */
  readonly apart: RawBuilder<SqlBool>;
};

/** All links of a project, the deleted ones too. */
export const allLinks: LinkScope = {
  together: sql<SqlBool>`link_id = ''`,
  apart: sql<SqlBool>`link_id > ''`,
};

export function chooseLinks(ids: readonly string[]): LinkScope {
  const areTheirs =
    ids.length === 0 ? sql<SqlBool>`1 = 0` : sql<SqlBool>`link_id in (${sql.join(ids)})`;
  return { together: areTheirs, apart: areTheirs };
}

/** The counters of so many links are looked up one by one. Those of more are found by a scan. */
const mostLookedUp = 100;

/** The links that match, and how many they are; with an id, that link or none. */
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
  // As an expression, so that no engine looks up each of very many links in each hour.
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
