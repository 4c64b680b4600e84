import { runStatements, type Migration } from "../../sql/migrate.ts";
import { makePostgresTables } from "../../sql/postgres-tables.ts";

const statements = [
  `create table client_keys (
    id text primary key,
    project_id text not null,
    token_hash text not null unique,
    created_at bigint not null
  )`,
  "create index client_keys_of_project on client_keys (project_id, created_at)",
];

/** The keys that apps are shipped with: whoever has such an app can read them. */
export const clientKeys: Migration = {
  name: "013-client-keys",
  up: (db) => runStatements(db, statements),
};

export const postgresClientKeys: Migration = {
  name: "013-client-keys",
  up: makePostgresTables(statements),
};
