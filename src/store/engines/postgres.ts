import { sql } from "kysely";
import type { LinkSearch } from "./link-search.ts";

/**
 * PostgreSQL keeps its indexes by itself, and ends what nobody waits for from outside. Where it has
 * pg_trgm, LIKE finds texts by it.
 */
export const postgresSearch: LinkSearch = {
  describeRows: (projectId) => ({ ownRows: sql`links.project_id = ${projectId}` }),
  matchContains: () => undefined,
  matchTogether: () => undefined,
  createIndex: () => Promise.resolve(),
  indexBatch: () => Promise.resolve(true),
  indexLink: () => Promise.resolve(),
  unindexLink: () => Promise.resolve(),
  dropIndex: () => Promise.resolve(),
};
