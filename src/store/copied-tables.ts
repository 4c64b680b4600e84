import type { Kysely } from "kysely";
import type { CopiedTables } from "../sql/copied-tables.ts";
import { indexFrom } from "./project-tallies.ts";
import { storeMigrations } from "./store.ts";
import type { Tables } from "./tables.ts";
import { createIndex } from "./trigram-index.ts";

/** What a copy of the store takes along. */
export const storeCopy: CopiedTables = {
  migrations: storeMigrations,
  tables: [
    { name: "projects", key: ["id"] },
    // How far an index has come: the copy has none yet.
    { name: "tallies", key: ["project_id"], leaves: ["indexed_to"] },
    { name: "api_keys", key: ["id"] },
    { name: "client_keys", key: ["project_id", "id"] },
    { name: "ios_apps", key: ["project_id", "id"] },
    { name: "android_apps", key: ["project_id", "id"] },
    { name: "links", key: ["project_id", "id"], leaves: ["rowkey"] },
    { name: "addresses", key: ["project_id", "address"] },
    { name: "short_paths", key: ["project_id", "link_id", "path"] },
    { name: "page_templates", key: ["project_id"] },
    { name: "page_template_versions", key: ["project_id", "id"] },
    { name: "bin", key: ["project_id", "kind", "id"] },
    {
      name: "visit_counts",
      key: ["project_id", "dimension", "day", "link_id", "value", "event"],
    },
    { name: "chores", key: ["project_id", "kind", "subject"] },
    { name: "webhooks", key: ["project_id", "id"] },
    { name: "deliveries", key: ["project_id", "webhook_id", "event_id"] },
  ],
  // What running processes have counted is over in a minute, and theirs alone; visits that installs
  // may follow are in ten, and nobody else can read them.
  left: ["request_counts", "deferred_visits", "store_secrets"],
  derive: indexLargeProjects,
};

/** Decides on the indexes; the next process that serves the store fills them. */
async function indexLargeProjects(untyped: Kysely<unknown>): Promise<void> {
  // All migrations have run, so the tables are there.
  const db = untyped as unknown as Kysely<Tables>;
  const large = await db
    .selectFrom("tallies")
    .select("project_id")
    .where("links", ">=", indexFrom)
    .execute();
  for (const { project_id } of large) await createIndex({ db, projectId: project_id });
}
