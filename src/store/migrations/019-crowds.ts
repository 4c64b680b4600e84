import { runStatements, type Migration } from "../../sql/migrate.ts";
import { makePostgresTables } from "../../sql/postgres-tables.ts";

const statements = [
  `create table crowds (
    project_id text not null primary key,
    visits bigint not null,
    others bigint not null,
    learned_at bigint not null
  )`,
];

/** How many share an address, as far as a project's visits have shown, for all its processes. */
export const crowds: Migration = {
  name: "019-crowds",
  up: (db) => runStatements(db, statements),
};

export const postgresCrowds: Migration = {
  name: "019-crowds",
  up: makePostgresTables(statements),
};
