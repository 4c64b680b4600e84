import { sql, type Kysely } from "kysely";
import { createInitialMigration, type Migration } from "../../sql/migrate.ts";
import { processTable } from "../../sql/processes.ts";
import type { Engine } from "../../sql/sql.ts";
import { makeEventTables } from "./event-tables.ts";
import { makeLinkTables } from "./link-tables.ts";
import { projectTables } from "./project-tables.ts";

/**
 * All tables of the store. The project is the first column of every key of a project's data and
 * nothing counts upwards, so that the tables can be distributed by project.
 */
const tables = createInitialMigration((engine: Engine) => [
  ...projectTables,
  ...makeLinkTables(engine),
  ...makeEventTables(engine),
  ...(engine === "postgres" ? [processTable] : []),
]);

export const initialTables: Migration = {
  name: tables.name,
  up: async (db, engine) => {
    await tables.up(db, engine);
    if (engine === "postgres") await indexTexts(db);
  },
};

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
