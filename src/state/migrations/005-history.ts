import { runStatements, type Migration } from "../../sql/migrate.ts";

/** What was written, by whom, and what was there before. */
export const history: Migration = {
  name: "005-history",
  up: (db) => runStatements(db, statements),
};

const statements = [
  `create table changes (
    number integer primary key autoincrement,
    id text not null unique,
    at bigint not null,
    realm text not null,
    key_print text not null,
    client text,
    tool text not null,
    kind text not null,
    target_id text,
    target_key text,
    name text,
    state text not null,
    effects text not null,
    note text,
    undoes text,
    undone_by text,
    size integer not null
  )`,
  "create index changes_by_realm on changes (realm, number)",
  "create index changes_by_key on changes (realm, key_print, number, size)",
  "create index changes_by_target on changes (realm, target_id, at)",
  "create index changes_by_target_key on changes (realm, target_key)",
  "create index changes_by_time on changes (at)",
  `create table successors (
    realm text not null,
    id text not null,
    successor_id text not null,
    at bigint not null,
    primary key (realm, id)
  )`,
  "create index successors_by_time on successors (at)",
];
