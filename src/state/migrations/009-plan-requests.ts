import { runStatements, type Migration } from "../../sql/migrate.ts";

/** What a plan was asked for, as far as its rows do not tell it. */
export const planRequests: Migration = {
  name: "009-plan-requests",
  up: (db) => runStatements(db, ["alter table plans add column request text"]),
};
