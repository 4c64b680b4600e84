import { sql } from "kysely";
import { readEngine } from "../../sql/open-kysely.ts";
import type { Db } from "../tenant.ts";
import { indexedColumns } from "./link-search.ts";

/** What is slow in a PostgreSQL database, and why; of a file there is nothing to tell. */
export async function listSlow(db: Db): Promise<readonly string[]> {
  if (readEngine(db) === "sqlite") return [];
  const { rows } = await sql<{ readonly name: string | null }>`
    select to_regclass('links_texts')::text as name
  `.execute(db);
  const hasIndex = typeof rows[0]?.name === "string";
  return hasIndex ? [] : [noTrigrams];
}

const trigrams = indexedColumns.map((column) => `${column}_lc gin_trgm_ops`).join(", ");

const noTrigrams =
  "searches inside names, paths and addresses are slow, because PostgreSQL's extension pg_trgm " +
  "is missing. As the database owner, run: create extension pg_trgm; create extension " +
  `btree_gin; create index links_texts on links using gin (project_id, ${trigrams})`;

/** `SQLite 3.51.3`. */
export async function nameEngine(db: Db): Promise<string> {
  const isFile = readEngine(db) === "sqlite";
  const { rows } = isFile
    ? await sql<Version>`select sqlite_version() as version`.execute(db)
    : await sql<Version>`select current_setting('server_version') as version`.execute(db);
  return `${isFile ? "SQLite" : "PostgreSQL"} ${rows[0]?.version ?? ""}`.trim();
}

type Version = { readonly version: string };
