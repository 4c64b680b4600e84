import { runStatements, type Migration } from "../../sql/migrate.ts";

/** Whether an event waits on its own account, and not for its receiver to come back. */
export const refusedDeliveries: Migration = {
  name: "021-refused-deliveries",
  up: (db) =>
    runStatements(db, ["alter table deliveries add column refused smallint not null default 0"]),
};
