import { readEngine } from "../sql/open-kysely.ts";
import type { LinkSearch } from "./engines/link-search.ts";
import { postgresSearch } from "./engines/postgres.ts";
import { sqliteSearch } from "./engines/sqlite.ts";
import type { Db, Tenant } from "./tenant.ts";

/** The index behind `cont` on links, as the engine of a store has it. */

const searches = { sqlite: sqliteSearch, postgres: postgresSearch };

export function findSearch(db: Db): LinkSearch {
  return searches[readEngine(db)];
}

export function createIndex(tenant: Tenant): Promise<void> {
  return findSearch(tenant.db).createIndex(tenant);
}

export function indexBatch(tenant: Tenant): Promise<boolean> {
  return findSearch(tenant.db).indexBatch(tenant);
}

export function dropIndex(db: Db, projectId: string): Promise<void> {
  return findSearch(db).dropIndex(db, projectId);
}
