import { runStatements, type Migration } from "../../sql/migrate.ts";

/** Whether the store button of a link's page hands the address over by the clipboard. */
export const clipboard: Migration = {
  name: "017-clipboard",
  up: (db) =>
    runStatements(db, ["alter table projects add column clipboard smallint not null default 0"]),
};
