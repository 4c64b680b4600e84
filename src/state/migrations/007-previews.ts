import { runStatements, type Migration } from "../../sql/migrate.ts";

/** Pages that a person looks at for a while; an address is known here by its hash alone. */
export const previews: Migration = {
  name: "007-previews",
  up: (db) => runStatements(db, statements),
};

const statements = [
  `create table previews (
    token_hash text not null primary key,
    key_print text not null,
    html text not null,
    expires_at bigint not null
  )`,
  "create index previews_by_key on previews (key_print, expires_at)",
  "create index previews_by_end on previews (expires_at)",
];
