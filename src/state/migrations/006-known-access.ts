import { runStatements, type Migration } from "../../sql/migrate.ts";

/** What was learned of a key at a deployment elsewhere: what it may do there, and what not. */
export const knownAccess: Migration = {
  name: "006-known-access",
  up: (db) => runStatements(db, statements),
};

const statements = [
  `create table known_access (
    key_print text not null,
    origin text not null,
    tool text not null,
    state text not null,
    reason text,
    shows_kind integer not null,
    at bigint not null,
    until bigint not null,
    primary key (key_print, origin, tool)
  )`,
  "create index known_access_by_end on known_access (until)",
];
