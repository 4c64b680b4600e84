import { sql, type Kysely } from "kysely";
import type { Migration } from "../../sql/migrate.ts";

/**
 * An index of all texts that `cont` looks into, where pg_trgm may be made: whoever runs the server
 * may not let us. Without it such lists are read through, as `waypost doctor --database` tells.
 * btree_gin lets the index begin with the project, so that no search goes through another's names.
 */
export const postgresSearch: Migration = {
  name: "008-postgres-search",
  up: async (db) => {
    const hasTrigrams = await tryStatement(db, "create extension if not exists pg_trgm");
    if (!hasTrigrams) return;
    const hasProjects = await tryStatement(db, "create extension if not exists btree_gin");
    const texts = ["name", "path", "shortened_path", "url", "social_title"];
    const columns = texts.map((text) => `${text}_lc gin_trgm_ops`).join(", ");
    const first = hasProjects ? "project_id, " : "";
    await tryStatement(db, `create index links_texts on links using gin (${first}${columns})`);
  },
};

/** False where it failed, which takes back nothing but itself. */
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
