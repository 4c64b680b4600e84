import { runStatements, type Migration } from "../../sql/migrate.ts";

/** How many bytes of events a project has waiting, and how many events were dropped for that. */
export const outboxSize: Migration = {
  name: "024-outbox-size",
  up: (db) =>
    runStatements(db, [
      "alter table tallies add column outbox_bytes bigint not null default 0",
      "alter table webhooks add column dropped bigint not null default 0",
    ]),
};
