import { runStatements, type Migration } from "../../sql/migrate.ts";

/**
 * Short paths of a link's address with a query, each beside its row among the addresses. They stay
 * while their link is in the bin, where their addresses are free.
 */
export const shortPaths: Migration = {
  name: "006-short-paths",
  up: (db) => runStatements(db, statements),
};

const statements = [
  `create table short_paths (
    project_id text not null,
    path text not null,
    link_id text not null,
    query text not null,
    primary key (project_id, link_id, path),
    unique (project_id, link_id, query)
  )`,
];
