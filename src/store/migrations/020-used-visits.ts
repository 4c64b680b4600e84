import { runStatements, type Migration } from "../../sql/migrate.ts";
import { nameTextType } from "../../sql/postgres-tables.ts";
import type { Engine } from "../../sql/sql.ts";

/**
 * A visit that was used stays until its time is over, for whoever has got no answer asks again. Its
 * own end is over at once: a process of the version before has nothing else to see that by.
 */
function addColumns(engine: Engine): Migration {
  const text = nameTextType(engine);
  return {
    name: "020-used-visits",
    up: (db) =>
      runStatements(db, [
        "alter table deferred_visits add column used_until bigint",
        `alter table deferred_visits add column used_by ${text}`,
        `alter table deferred_visits add column told ${text}`,
        "create index deferred_visits_by_use on deferred_visits (project_id, used_by)",
      ]),
  };
}

export const usedVisits = addColumns("sqlite");
export const postgresUsedVisits = addColumns("postgres");
