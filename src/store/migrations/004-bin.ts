import { runStatements, type Migration } from "../../sql/migrate.ts";

/**
 * Deleted links and apps rest in a table of their own, so that no list, count, index or unique key
 * has to pass them over. A link remembers itself which app it was on: so the app finds its links
 * again, whatever became of them meanwhile.
 */
export const bin: Migration = {
  name: "004-bin",
  up: (db) => runStatements(db, statements),
};

const statements = [
  `create table bin (
    project_id text not null,
    kind text not null,
    id text not null,
    record text not null,
    clicks bigint not null,
    deleted_at bigint not null,
    primary key (project_id, kind, id)
  )`,
  "create index bin_age on bin (project_id, deleted_at, kind, id)",
  "alter table links add column former_ios_app_id text",
  "alter table links add column former_android_app_id text",
  `create index links_former_ios_app on links (project_id, former_ios_app_id, id)
    where former_ios_app_id is not null`,
  `create index links_former_android_app on links (project_id, former_android_app_id, id)
    where former_android_app_id is not null`,
];
