import { runStatements, type Migration } from "../../sql/migrate.ts";

/** Links that name no app are told to iOS and Android, whatever else a project has. */
export const linksOfNoApp: Migration = {
  name: "012-links-of-no-app",
  up: (db) =>
    runStatements(db, [
      `create index links_of_no_app on links (project_id, created_at, id)
        where ios_app_id is null and android_app_id is null`,
    ]),
};
