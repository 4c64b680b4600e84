import { runStatements, type Migration } from "../../sql/migrate.ts";

/** A link's address with one query can have several short paths, each with its own prefix. */
const name = "025-further-short-paths";

export const furtherShortPaths: Migration = {
  name,
  up: (db) =>
    runStatements(db, [
      `create table further_short_paths (
        project_id text not null,
        path text not null,
        link_id text not null,
        query text not null,
        place integer not null default 0,
        primary key (project_id, link_id, path),
        unique (project_id, link_id, query, place)
      )`,
      `insert into further_short_paths (project_id, path, link_id, query)
        select project_id, path, link_id, query from short_paths`,
      "drop table short_paths",
      "alter table further_short_paths rename to short_paths",
    ]),
};

export const postgresFurtherShortPaths: Migration = {
  name,
  up: (db) =>
    runStatements(db, [
      "alter table short_paths add column place integer not null default 0",
      "alter table short_paths drop constraint short_paths_project_id_link_id_query_key",
      "alter table short_paths add unique (project_id, link_id, query, place)",
    ]),
};
