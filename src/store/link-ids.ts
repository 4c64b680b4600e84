import { sql } from "kysely";
import type { Filter } from "../contract/filters.ts";
import { createLinkSet, type LinkSet } from "../stats/link-set.ts";
import { filtersToSql } from "./filters.ts";
import { describeLinks } from "./link-columns.ts";
import { readTally } from "./project-tallies.ts";
import { wholeIndex } from "./engines/link-search.ts";
import type { Tenant } from "./tenant.ts";

/** The ids of links alone, for what counts by them. */
export async function findMatching(tenant: Tenant, filters: readonly Filter[]): Promise<LinkSet> {
  const { indexed_to } = await readTally(tenant);
  const query = { page: 1, limit: 1, sorts: [], filters };
  const { columns, ownRows, ownRowsUnindexed } = describeLinks(
    tenant,
    query,
    indexed_to === wholeIndex,
  );
  // As one text: a million rows would take longer to hand over than to find.
  const { rows } = await sql<Record<"ids" | "first" | "last", string | null>>`
    select string_agg(replace(id, '-', ''), '') as ids, min(id) as first, max(id) as last from links
    where ${ownRowsUnindexed ?? ownRows} and ${filtersToSql(filters, columns)}
  `.execute(tenant.db);
  const [{ ids, first, last } = {}] = rows;
  const packed = Buffer.from(ids ?? "", "hex");
  return createLinkSet(packed, first && last ? [first, last] : undefined);
}

/** The path of each that is there, which some have none of. */
export async function readPaths(
  { db, projectId }: Tenant,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("links")
    .select(["id", "path"])
    .where("project_id", "=", projectId)
    .where("id", "in", ids)
    .execute();
  return new Map(rows.map(({ id, path }) => [id, path]));
}
