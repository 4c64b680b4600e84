import { runStatements, type Migration } from "../../sql/migrate.ts";
import { nameTextType } from "../../sql/postgres-tables.ts";

/** Whose calls a job's rows are: another process goes on with it, though it never saw the key. */
export const jobKeys: Migration = {
  name: "010-job-keys",
  up: (db, engine) =>
    runStatements(db, [
      `alter table jobs add column key_id ${nameTextType(engine)}`,
      // PostgreSQL began with it.
      "create index if not exists jobs_by_state on jobs (state, key_print)",
    ]),
};
