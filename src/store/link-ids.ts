import { sql } from "kysely";
import type { Filter } from "../contract/filters.ts";
import { filtersToSql } from "./filters.ts";
import { describeLinks } from "./link-columns.ts";
import { readTally } from "./project-tallies.ts";
import { wholeIndex } from "./engines/link-search.ts";
import type { Tenant } from "./tenant.ts";

/** The ids of links alone, for what counts by them. */
export async function listMatchingIds(
  tenant: Tenant,
  filters: readonly Filter[],
): Promise<ReadonlySet<string>> {
  const { indexed_to } = await readTally(tenant);
  const query = { page: 1, limit: 1, sorts: [], filters };
  const { columns, ownRows, ownRowsUnindexed } = describeLinks(
    tenant,
    query,
    indexed_to === wholeIndex,
  );
  const { rows } = await sql<{ id: string }>`
    select id from links where ${ownRowsUnindexed ?? ownRows} and ${filtersToSql(filters, columns)}
  `.execute(tenant.db);
  return new Set(rows.map(({ id }) => id));
}

/** The path of each that is there. */
export async function readPaths(
  { db, projectId }: Tenant,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("links")
    .select(["id", "path"])
    .where("project_id", "=", projectId)
    .where("id", "in", ids)
    .execute();
  return new Map(rows.map(({ id, path }) => [id, path ?? id]));
}
