import { makePostgresTables } from "../../sql/postgres-tables.ts";
import { runStatements, type Migration } from "../../sql/migrate.ts";

const statements = [
  `create table hidden_forms (
    key_print text not null,
    client text not null,
    at bigint not null,
    primary key (key_print, client)
  )`,
  "create index hidden_forms_by_time on hidden_forms (at)",
];

const name = "015-hidden-forms";

/** Which clients declare forms and do not show them. */
export const hiddenForms: Migration = { name, up: (db) => runStatements(db, statements) };

export const postgresHiddenForms: Migration = { name, up: makePostgresTables(statements) };
