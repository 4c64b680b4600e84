import { sql } from "kysely";
import { readEngine } from "../../sql/open-kysely.ts";
import type { Db } from "../tenant.ts";
import { indexedColumns } from "./link-search.ts";

/** What an operator of a PostgreSQL database is told of it (`waypost doctor --database`). */
export type DatabaseFacts = {
  /** What is slow, and why. */
  readonly slow: readonly string[];
  /** The statements that spread the tables over the machines of Citus. */
  readonly distribution: readonly string[];
};

/** Of a file there is nothing to tell. */
export async function describeDatabaseOf(db: Db): Promise<DatabaseFacts> {
  if (readEngine(db) === "sqlite") return { slow: [], distribution: [] };
  const { rows } = await sql<{ readonly name: string | null }>`
    select to_regclass('links_texts')::text as name
  `.execute(db);
  const hasIndex = typeof rows[0]?.name === "string";
  return { slow: hasIndex ? [] : [noTrigrams], distribution };
}

const trigrams = indexedColumns.map((column) => `${column}_lc gin_trgm_ops`).join(", ");

const noTrigrams =
  "lists that look for a text inside names, paths and addresses go through all links of a " +
  "project: pg_trgm could not be made. As its owner: create extension pg_trgm; create extension " +
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

/** Whose every row is of one project, which stands first in their keys and in every query. */
export const tenantTables = [
  "links",
  "tallies",
  "addresses",
  "short_paths",
  "ios_apps",
  "android_apps",
  "bin",
  "page_templates",
  "page_template_versions",
] as const;

/** What must be found before the project is known: on every machine. */
export const sharedTables = ["projects", "api_keys", "chores", "migrations"] as const;

/** What every process writes: on the first machine alone. */
export const localTables = ["waypost_writers", "request_counts"] as const;

const [first, ...others] = tenantTables;

const distribution = [
  ...sharedTables.map((table) => `select create_reference_table('${table}');`),
  ...localTables.map((table) => `select citus_add_local_table_to_metadata('${table}');`),
  `select create_distributed_table('${first}', 'project_id');`,
  ...others.map((table) => {
    const beside = `colocate_with => '${first}'`;
    return `select create_distributed_table('${table}', 'project_id', ${beside});`;
  }),
];
