import { runStatements, type Migration } from "../../sql/migrate.ts";

export const init: Migration = {
  name: "001-init",
  up: (db) => runStatements(db, statements),
};

const statements = [
  `create table approvals (
    id text primary key,
    digest text not null,
    channel text not null,
    status text not null,
    preview text not null,
    pin_tries integer not null,
    created_at bigint not null,
    expires_at bigint not null
  )`,
  `create index approvals_by_digest on approvals (digest, channel)`,
  `create index approvals_by_end on approvals (expires_at)`,
  `create table pin_tries (at bigint not null)`,
  `create table secrets (name text primary key, value text not null)`,
];
