import { runStatements, type Migration } from "../../sql/migrate.ts";

/** Plans, the jobs that apply them, and what each row came to. */
export const bulk: Migration = {
  name: "002-bulk",
  up: (db) => runStatements(db, statements),
};

const statements = [
  `create table plans (
    id text primary key,
    key_print text not null,
    origin text not null,
    operation text not null,
    undoes text,
    counts text not null,
    problems text not null,
    created_at bigint not null,
    expires_at bigint not null
  )`,
  `create index plans_by_end on plans (expires_at)`,
  `create table plan_rows (
    plan_id text not null,
    position integer not null,
    row integer,
    action text not null,
    link_id text,
    path text,
    fields text,
    before text,
    message text,
    primary key (plan_id, position)
  )`,
  `create table jobs (
    id text primary key,
    plan_id text not null unique,
    key_print text not null,
    state text not null,
    message text,
    runner text,
    runs_until bigint not null,
    created_at bigint not null,
    updated_at bigint not null
  )`,
  `create table job_rows (
    job_id text not null,
    position integer not null,
    status text not null,
    link_id text,
    made text,
    message text,
    primary key (job_id, position)
  )`,
  `create index job_rows_by_status on job_rows (job_id, status)`,
  `create table turns (
    key_print text not null,
    kind text not null,
    next_at bigint not null,
    primary key (key_print, kind)
  )`,
  `create table spent (
    id integer primary key autoincrement,
    key_print text not null,
    budget text not null,
    at bigint not null
  )`,
  `create index spent_by_time on spent (key_print, budget, at)`,
  `create table exports (
    id text not null,
    page integer not null,
    key_print text not null,
    type text not null,
    text text not null,
    expires_at bigint not null,
    primary key (id, page)
  )`,
];
