import { runStatements, type Migration } from "../../sql/migrate.ts";

/** A project's page template: its draft, and what was published of it. */
export const pageTemplates: Migration = {
  name: "002-page-templates",
  up: (db) => runStatements(db, statements),
};

const statements = [
  `create table page_templates (
    project_id text primary key,
    id text not null,
    body text not null,
    css text not null,
    live_id text,
    created_at bigint not null,
    updated_at bigint not null
  )`,
  `create table page_template_versions (
    project_id text not null,
    id text not null,
    number bigint not null,
    body text not null,
    css text not null,
    published_at bigint not null,
    primary key (project_id, id),
    unique (project_id, number)
  )`,
];
