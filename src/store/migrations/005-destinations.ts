import { sql } from "kysely";
import type { Migration } from "../../sql/migrate.ts";

/** The hosts that a project's links may lead to; null is any. */
export const destinations: Migration = {
  name: "005-destinations",
  up: async (db) => {
    await sql`alter table projects add column destinations text`.execute(db);
  },
};
