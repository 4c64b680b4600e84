import { runStatements, type Migration } from "../../sql/migrate.ts";
import { makePostgresTables } from "../../sql/postgres-tables.ts";

const statements = [
  `create table deferred_visits (
    project_id text not null,
    id text not null,
    link_id text not null,
    query text not null,
    address text,
    family text,
    look text,
    whole text not null,
    marks text not null,
    ends_at bigint not null,
    primary key (project_id, id)
  )`,
  "create index deferred_visits_by_address on deferred_visits (project_id, address, ends_at)",
  "create index deferred_visits_by_look on deferred_visits (project_id, look, ends_at)",
  "create index deferred_visits_by_time on deferred_visits (project_id, ends_at)",
  "create index deferred_visits_by_end on deferred_visits (ends_at)",
  `create table store_secrets (
    name text primary key,
    value text not null
  )`,
];

/** Visits that an install may follow, for ten minutes, and the key of what is hashed in them. */
export const deferredVisits: Migration = {
  name: "016-deferred-visits",
  up: (db) => runStatements(db, statements),
};

export const postgresDeferredVisits: Migration = {
  name: "016-deferred-visits",
  up: makePostgresTables(statements),
};
