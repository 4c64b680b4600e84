import { runStatements, type Migration } from "../../sql/migrate.ts";

/** When a key was last used, to a few minutes; null is never, or before this was noted. */
export const keyUses: Migration = {
  name: "011-key-uses",
  up: (db) => runStatements(db, ["alter table api_keys add column last_used_at bigint"]),
};
