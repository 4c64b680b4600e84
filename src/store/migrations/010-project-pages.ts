import { runStatements, type Migration } from "../../sql/migrate.ts";
import { nameTextType } from "../../sql/postgres-tables.ts";

/** Where the root of a project's host leads, and an address of no link; null is nowhere. */
export const projectPages: Migration = {
  name: "010-project-pages",
  up: (db, engine) => {
    const type = nameTextType(engine);
    return runStatements(db, [
      `alter table projects add column home_url ${type}`,
      `alter table projects add column not_found_url ${type}`,
    ]);
  },
};
