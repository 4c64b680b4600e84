import { makePostgresTables } from "../../sql/postgres-tables.ts";
import { runStatements, type Migration } from "../../sql/migrate.ts";

const statements = [
  `create table history_gaps (
    realm text not null primary key,
    at bigint not null
  )`,
];

const name = "016-history-gaps";

/** Up to when a project's history lacks changes. */
export const historyGaps: Migration = { name, up: (db) => runStatements(db, statements) };

export const postgresHistoryGaps: Migration = { name, up: makePostgresTables(statements) };
