import { sql, type Kysely } from "kysely";
import {
  createInitialMigration,
  type CopiedTables,
  type Migration,
  type Migrations,
} from "../sql/migrate.ts";
import type { Engine } from "../sql/sql.ts";
import { indexFrom } from "./projects.ts";
import { tableList, type Tables } from "./tables.ts";
import { createIndex } from "./trigram-index.ts";

/** How the store's tables are created, and which of them a copy of the store has. */

const uniqueKeys: Readonly<Record<string, readonly string[]>> = {
  short_paths: ["project_id, link_id, query, place"],
  ios_apps: ["project_id, bundle_id"],
  android_apps: ["project_id, package_name"],
  projects: ["subdomain", "custom_domain"],
  // A token is looked up before its project is known.
  api_keys: ["token_hash"],
  client_keys: ["token_hash"],
  page_template_versions: ["project_id, number"],
};

/** Their rows are short and read by key, so SQLite keeps them in the index of the key. */
const keyedTables: ReadonlySet<string> = new Set(["addresses", "visit_counts"]);

const indexes: readonly string[] = [
  // With time and id as their last columns, these indexes filter a page and put it in order.
  "create index links_path on links (project_id, path_lc, created_at, id)",
  "create index links_name on links (project_id, name_lc, created_at, id)",
  "create index links_clicks on links (project_id, clicks, created_at, id)",
  // This one comes last: without an index for a filter, SQLite scans a project by its newest index.
  // It has the rows as they lie in the file, and any other index takes four times as long.
  "create index links_created on links (project_id, created_at, id)",
  `create index links_short on links (project_id, shortened_path_lc)
    where shortened_path_lc is not null`,
  `create index links_ios_app on links (project_id, ios_app_id, created_at, id)
    where ios_app_id is not null`,
  `create index links_android_app on links (project_id, android_app_id, created_at, id)
    where android_app_id is not null`,
  `create index links_of_no_app on links (project_id, created_at, id)
    where ios_app_id is null and android_app_id is null`,
  `create index links_former_ios_app on links (project_id, former_ios_app_id, id)
    where former_ios_app_id is not null`,
  `create index links_former_android_app on links (project_id, former_android_app_id, id)
    where former_android_app_id is not null`,
  "create index bin_age on bin (project_id, deleted_at, kind, id)",
  "create index bin_by_age on bin (deleted_at)",
  "create index client_keys_of_project on client_keys (project_id, created_at)",
  "create index deferred_visits_by_address on deferred_visits (project_id, address, ends_at)",
  "create index deferred_visits_by_end on deferred_visits (ends_at)",
  "create index deferred_visits_by_use on deferred_visits (project_id, used_by)",
  "create index webhooks_of_project on webhooks (project_id, created_at, id)",
  `create index deliveries_in_order
    on deliveries (project_id, webhook_id, state, created_at, next_at)`,
  "create index request_counts_by_end on request_counts (ends_at)",
];

const createTables = createInitialMigration((engine) => [
  ...tableList.map((table) => writeTable(engine, table)),
  ...indexes,
]);

const initialMigration: Migration = {
  name: createTables.name,
  up: async (db, engine) => {
    await createTables.up(db, engine);
    if (engine === "postgres") await indexTexts(db);
  },
};

export const storeMigrations: Migrations = {
  table: "waypost_migrations",
  list: [initialMigration],
};

function writeTable(engine: Engine, { name, columns, key }: (typeof tableList)[number]): string {
  // The trigram index of SQLite finds a link by its row number.
  const isNumbered = engine === "sqlite" && name === "links";
  const lines = [
    ...(isNumbered ? ["rowkey integer primary key"] : []),
    ...Object.entries(columns).map(([column, { type }]) => `${column} ${type}`),
    `${isNumbered ? "unique" : "primary key"} (${key.join(", ")})`,
    ...(uniqueKeys[name] ?? []).map((unique) => `unique (${unique})`),
  ];
  const end = engine === "sqlite" && keyedTables.has(name) ? ") without rowid" : ")";
  return `create table ${name} (\n  ${lines.join(",\n  ")}\n${end}`;
}

/**
 * Indexes the texts that `cont` looks into, where the server lets us create pg_trgm. Otherwise such
 * lists read every link, and `waypost doctor` says so. With btree_gin the index begins with the
 * project, so that no search reads another project's texts.
 */
async function indexTexts(db: Kysely<unknown>): Promise<void> {
  const hasTrigrams = await tryStatement(db, "create extension if not exists pg_trgm");
  if (!hasTrigrams) return;
  const hasProjects = await tryStatement(db, "create extension if not exists btree_gin");
  const texts = ["name", "path", "shortened_path", "url", "social_title"];
  const columns = texts.map((text) => `${text}_lc gin_trgm_ops`).join(", ");
  const first = hasProjects ? "project_id, " : "";
  await tryStatement(db, `create index links_texts on links using gin (${first}${columns})`);
}

/** A failed statement undoes only itself. */
async function tryStatement(db: Kysely<unknown>, statement: string): Promise<boolean> {
  await sql`savepoint before_it`.execute(db);
  try {
    await sql.raw(statement).execute(db);
    return true;
  } catch {
    await sql`rollback to savepoint before_it`.execute(db);
    return false;
  } finally {
    await sql`release savepoint before_it`.execute(db);
  }
}

/** Counts of running processes, visits that soon end, and the key that only they are read with. */
const left: readonly string[] = ["request_counts", "deferred_visits", "store_secrets"];
/** A copy has no index yet, and numbers its rows itself. */
const leaves: Readonly<Record<string, readonly string[]>> = {
  tallies: ["indexed_to"],
  links: ["rowkey"],
};

/** What `waypost migrate` copies of the store. */
export const storeCopy: CopiedTables = {
  migrations: storeMigrations,
  tables: tableList
    .filter(({ name }) => !left.includes(name))
    .map(({ name, key }) => ({ name, key, leaves: leaves[name] ?? [] })),
  left,
  derive: indexLargeProjects,
};

/** Creates the indexes; the next process that serves the store fills them. */
async function indexLargeProjects(untyped: Kysely<unknown>): Promise<void> {
  // All migrations have run, so the tables exist.
  const db = untyped as unknown as Kysely<Tables>;
  const large = await db
    .selectFrom("tallies")
    .select("project_id")
    .where("links", ">=", indexFrom)
    .execute();
  for (const { project_id } of large) await createIndex({ db, projectId: project_id });
}
