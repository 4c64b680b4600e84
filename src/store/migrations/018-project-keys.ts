import { runStatements, type Migration } from "../../sql/migrate.ts";
import { nameTextType } from "../../sql/postgres-tables.ts";

/**
 * A project's webhooks, what they are still to be told, and its client keys have the project in
 * their keys, as everything else of it: so they can lie beside it, on whichever machine that is.
 *
 * An event that is written without a project is one of a process of the version before, which runs
 * beside this one for a while (`store/adopt-deliveries.ts`).
 */

const deliveryIndexes = [
  `create index deliveries_in_order
    on deliveries (project_id, webhook_id, state, number, part, next_at)`,
  `create index deliveries_due on deliveries (project_id, webhook_id, state, next_at, subject)`,
];

/**
 * A key is part of its table there: the table is made anew, with its columns in their order and new
 * ones behind them, for a process that has it open reads them by that.
 */
const sqliteStatements = [
  `create table keyed_webhooks (
    id text not null,
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
    last_fault text,
    primary key (project_id, id)
  )`,
  "insert into keyed_webhooks select * from webhooks",
  `create table keyed_deliveries (
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
    project_id text not null default '',
    primary key (project_id, webhook_id, event_id)
  )`,
  // What a revoked webhook was to be told is nobody's, and would have been taken away soon.
  `insert into keyed_deliveries select deliveries.*, webhooks.project_id
    from deliveries inner join webhooks on webhooks.id = deliveries.webhook_id`,
  "drop table deliveries",
  "drop table webhooks",
  "alter table keyed_webhooks rename to webhooks",
  "alter table keyed_deliveries rename to deliveries",
  "create index webhooks_of_project on webhooks (project_id, created_at, id)",
  ...deliveryIndexes,
  `create table keyed_client_keys (
    id text not null,
    project_id text not null,
    token_hash text not null unique,
    created_at bigint not null,
    primary key (project_id, id)
  )`,
  "insert into keyed_client_keys select * from client_keys",
  "drop table client_keys",
  "alter table keyed_client_keys rename to client_keys",
  "create index client_keys_of_project on client_keys (project_id, created_at)",
];

const postgresStatements = [
  ...["webhooks", "client_keys"].flatMap((table) => renewKey(table, "project_id, id")),
  `alter table deliveries
    add column project_id ${nameTextType("postgres")} not null default ''`,
  `update deliveries set project_id = webhooks.project_id from webhooks
    where webhooks.id = deliveries.webhook_id`,
  "delete from deliveries where project_id = ''",
  ...renewKey("deliveries", "project_id, webhook_id, event_id"),
  "drop index deliveries_in_order",
  "drop index deliveries_due",
  ...deliveryIndexes,
];

function renewKey(table: string, columns: string): readonly string[] {
  return [
    `alter table ${table} drop constraint ${table}_pkey`,
    `alter table ${table} add constraint ${table}_pkey primary key (${columns})`,
  ];
}

const name = "018-project-keys";

export const projectKeys: Migration = {
  name,
  up: (db) => runStatements(db, sqliteStatements),
};

export const postgresProjectKeys: Migration = {
  name,
  up: (db) => runStatements(db, postgresStatements),
};
