import { runStatements, type Migration } from "../../sql/migrate.ts";

/**
 * Whether an event waits on its own account, and not for its receiver to come back. It is in the
 * index by which a subject is known to wait, that tens of thousands may be behind.
 */
export const refusedDeliveries: Migration = {
  name: "021-refused-deliveries",
  up: (db) =>
    runStatements(db, [
      "alter table deliveries add column refused smallint not null default 0",
      "drop index deliveries_due",
      `create index deliveries_due
        on deliveries (project_id, webhook_id, state, next_at, subject, refused)`,
    ]),
};
