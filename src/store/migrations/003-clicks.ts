import { sql } from "kysely";
import type { Migration } from "../../sql/migrate.ts";

/** Visits change a number that few lists look at, so they are tallied beside the other writes. */
export const clicks: Migration = {
  name: "003-clicks",
  up: async (db) => {
    await sql`alter table tallies add column clicked bigint not null default 0`.execute(db);
  },
};
