import { runStatements, type Migration } from "../../sql/migrate.ts";
import { makePostgresTables } from "../../sql/postgres-tables.ts";

const statements = [
  `create table request_counts (
    name text not null,
    process text not null,
    spent bigint not null,
    ends_at bigint not null,
    primary key (name, process)
  )`,
  "create index request_counts_by_end on request_counts (ends_at)",
];

/** What each process has counted against a budget lately, for the others to see. */
export const requestCounts: Migration = {
  name: "009-request-counts",
  up: (db) => runStatements(db, statements),
};

export const postgresRequestCounts: Migration = {
  name: "009-request-counts",
  up: makePostgresTables(statements),
};
