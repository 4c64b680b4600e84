import { runStatements, type Migration } from "../../sql/migrate.ts";

/**
 * A notice is its project's: it is found by that first. The index of its id alone is there for
 * processes of the version before, which run beside this one for a while and know no other.
 */
const indexOfBefore = "create unique index notices_by_id on notices (id)";

/**
 * A key is part of its table there: the table is made anew, with its columns in their order, for
 * a process that has it open reads them by that.
 */
const sqliteStatements = [
  `create table keyed_notices (
    id text not null,
    realm text not null,
    event text not null,
    subject text not null,
    data text not null,
    at bigint not null,
    primary key (realm, id)
  )`,
  "insert into keyed_notices select * from notices",
  "drop table notices",
  "alter table keyed_notices rename to notices",
  "create index notices_by_time on notices (at)",
  indexOfBefore,
];

const postgresStatements = [
  "alter table notices drop constraint notices_pkey",
  "alter table notices add constraint notices_pkey primary key (realm, id)",
  indexOfBefore,
];

const name = "014-notice-realms";

export const noticeRealms: Migration = {
  name,
  up: (db) => runStatements(db, sqliteStatements),
};

export const postgresNoticeRealms: Migration = {
  name,
  up: (db) => runStatements(db, postgresStatements),
};
