import { runStatements, type Migration } from "../../sql/migrate.ts";
import { makePostgresTables, nameTextType } from "../../sql/postgres-tables.ts";
import type { Engine } from "../../sql/sql.ts";

/**
 * Whose rows are found together has them together: a job's rows stand beside those of its plan, by
 * the same columns, and a job says in which project's history it is.
 */
const makeStatements = (engine: Engine) => [
  `create table planned_rows (
    plan_id text not null,
    position bigint not null,
    status text not null,
    link_id text,
    made text,
    message text,
    primary key (plan_id, position)
  )`,
  `insert into planned_rows (plan_id, position, status, link_id, made, message)
    select jobs.plan_id, ended.position, ended.status, ended.link_id, ended.made, ended.message
    from job_rows as ended inner join jobs on jobs.id = ended.job_id`,
  "drop table job_rows",
  "alter table planned_rows rename to job_rows",
  "create index job_rows_by_status on job_rows (plan_id, status)",
  `alter table jobs add column realm ${nameTextType(engine)}`,
  `update jobs set realm = changes.realm from changes
    where changes.kind = 'job' and changes.target_id = jobs.id`,
];

/** What is unique is so within a project, a plan or a key, for no machine knows all the others. */
const postgresKeys = [
  "alter table changes drop constraint changes_pkey",
  "alter table changes drop constraint changes_id_key",
  "alter table changes add primary key (realm, number)",
  "alter table changes add unique (realm, id)",
  // Those two stand for it, and nothing looks for a target without its project any more.
  "drop index changes_by_realm",
  "drop index changes_of_what",
  "alter table exports drop constraint exports_pkey",
  "alter table exports add primary key (key_print, id, page)",
];

const name = "012-spread";

export const spreadRows: Migration = {
  name,
  up: (db) => runStatements(db, makeStatements("sqlite")),
};

export const spreadPostgresRows: Migration = {
  name,
  up: makePostgresTables([...makeStatements("postgres"), ...postgresKeys]),
};
