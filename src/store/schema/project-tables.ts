/** Projects, their keys and page templates, and what processes share about them. */
export const projectTables: readonly string[] = [
  `create table projects (
    id text primary key,
    name text not null,
    subdomain text not null unique,
    custom_domain text unique,
    custom_domain_verified smallint not null,
    plan text not null,
    templates_enabled smallint not null,
    link_in_referrer smallint not null,
    clipboard smallint not null,
    suspended smallint not null,
    max_links bigint not null,
    destinations text,
    home_url text,
    not_found_url text,
    created_at bigint not null,
    updated_at bigint not null
  )`,
  `create table tallies (
    project_id text primary key,
    links bigint not null,
    generation bigint not null,
    indexed_to text,
    clicked bigint not null,
    webhooks smallint not null
  )`,
  `create table api_keys (
    id text primary key,
    project_id text,
    token_hash text not null unique,
    scopes text not null,
    role text not null,
    last_used_at bigint,
    created_at bigint not null,
    updated_at bigint not null
  )`,
  // The token is looked up before the project is known.
  `create table client_keys (
    project_id text not null,
    id text not null,
    token_hash text not null unique,
    created_at bigint not null,
    primary key (project_id, id)
  )`,
  "create index client_keys_of_project on client_keys (project_id, created_at)",
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
  `create table chores (
    project_id text not null,
    kind text not null,
    subject text not null,
    primary key (project_id, kind, subject)
  )`,
  `create table request_counts (
    name text not null,
    process text not null,
    spent bigint not null,
    ends_at bigint not null,
    primary key (name, process)
  )`,
  "create index request_counts_by_end on request_counts (ends_at)",
  `create table store_secrets (
    name text primary key,
    value text not null
  )`,
];
