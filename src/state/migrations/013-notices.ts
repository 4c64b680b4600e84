import { makePostgresTables } from "../../sql/postgres-tables.ts";
import { runStatements, type Migration } from "../../sql/migrate.ts";

const statements = [
  `create table notices (
    id text not null primary key,
    realm text not null,
    event text not null,
    subject text not null,
    data text not null,
    at bigint not null
  )`,
  "create index notices_by_time on notices (at)",
];

const name = "013-notices";

/** What webhooks are to be told of jobs and approvals, until whoever delivers takes it over. */
export const notices: Migration = { name, up: (db) => runStatements(db, statements) };

export const postgresNotices: Migration = { name, up: makePostgresTables(statements) };
