import { runStatements, type Migration } from "../../sql/migrate.ts";

/**
 * An install is matched only with visits from its own address, so visits are no longer found by the
 * look of a phone. Addresses that many strangers share are kept too, and marked.
 */
export const visitPlaces: Migration = {
  name: "023-visit-places",
  up: (db) =>
    runStatements(db, [
      "drop index deferred_visits_by_look",
      "alter table deferred_visits drop column look",
      "alter table deferred_visits drop column family",
      "alter table deferred_visits add column is_shared smallint not null default 0",
    ]),
};
