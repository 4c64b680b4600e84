import { runStatements, type Migration } from "../../sql/migrate.ts";

/** Overwrites that nobody was asked about, and how many a person has allowed beyond them. */
export const overwrites: Migration = {
  name: "004-overwrites",
  up: (db) => runStatements(db, statements),
};

const statements = [
  `create table overwrites (
    id integer primary key autoincrement,
    key_print text not null,
    at bigint not null
  )`,
  "create index overwrites_by_time on overwrites (key_print, at)",
  `create table overwrite_grants (
    key_print text primary key,
    remaining integer not null,
    granted_at bigint not null
  )`,
];
