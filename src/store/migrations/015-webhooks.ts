import { runStatements, type Migration } from "../../sql/migrate.ts";
import { makePostgresTables } from "../../sql/postgres-tables.ts";

const statements = [
  // Every write reads the project's tally anyway: without webhooks nothing more is asked.
  "alter table tallies add column webhooks smallint",
  `create table webhooks (
    id text primary key,
    project_id text not null,
    url text not null,
    secret text not null,
    events text not null,
    created_at bigint not null,
    runner text,
    runs_until bigint not null,
    failures integer not null,
    failing_since bigint,
    rests_until bigint not null,
    last_event text,
    last_at bigint,
    last_fault text
  )`,
  "create index webhooks_of_project on webhooks (project_id, created_at, id)",
  `create table deliveries (
    webhook_id text not null,
    event_id text not null,
    number bigint not null,
    part integer not null,
    event text not null,
    subject text not null,
    body text not null,
    state text not null,
    attempts integer not null,
    next_at bigint not null,
    ends_at bigint,
    fault text,
    created_at bigint not null,
    primary key (webhook_id, event_id)
  )`,
  "create index deliveries_in_order on deliveries (webhook_id, state, number, part, next_at)",
  "create index deliveries_due on deliveries (webhook_id, state, next_at, subject)",
];

/** Where a project's events are sent, and those that have not arrived yet. */
export const webhooks: Migration = {
  name: "015-webhooks",
  up: (db) => runStatements(db, statements),
};

export const postgresWebhooks: Migration = {
  name: "015-webhooks",
  up: makePostgresTables(statements),
};
