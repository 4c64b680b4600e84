import { runStatements, type Migration } from "../../sql/migrate.ts";

/**
 * Which event is the latest that was not tried, and which was due first, are asked of tens of
 * thousands once a minute, and which is the first about a subject: the index has the order.
 */
export const deliveryNumbers: Migration = {
  name: "022-delivery-numbers",
  up: (db) =>
    runStatements(db, [
      "drop index deliveries_due",
      `create index deliveries_due on deliveries
        (project_id, webhook_id, state, next_at, number, part, subject, refused)`,
    ]),
};
