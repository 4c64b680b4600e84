import { runStatements, type Migration } from "../../sql/migrate.ts";
import { makePostgresTables } from "../../sql/postgres-tables.ts";

const statements = [
  `create table visit_batches (
    project_id text not null,
    id text not null,
    owes_clicks smallint not null,
    body text not null,
    primary key (project_id, id)
  )`,
  "create index visit_batches_owing on visit_batches (project_id) where owes_clicks = 1",
  `create table visit_days (
    project_id text not null,
    day integer not null,
    first_id text not null,
    last_id text not null,
    hourly smallint not null,
    ids text not null,
    sums text not null,
    detail text not null,
    primary key (project_id, day, first_id)
  )`,
  "create index visit_days_hourly on visit_days (project_id, day) where hourly = 1",
  `create table visit_totals (
    project_id text not null,
    day integer not null,
    hourly smallint not null,
    body text not null,
    primary key (project_id, day)
  )`,
  "create index visit_totals_hourly on visit_totals (project_id, day) where hourly = 1",
];

/** When links were visited, and from where: as it was written down, and put together by day. */
export const visits: Migration = {
  name: "014-visits",
  up: (db) => runStatements(db, statements),
};

export const postgresVisits: Migration = {
  name: "014-visits",
  up: makePostgresTables(statements),
};
