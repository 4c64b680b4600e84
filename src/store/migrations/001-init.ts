import { runStatements, type Migration } from "../../sql/migrate.ts";

/**
 * The first tables. The project stands first in every tenant table's keys, ids come from the
 * application and nothing counts upwards, so that the tables can be spread over machines
 * (storage.md §3). Links are detached by the application, not by foreign keys, for the same reason.
 */
export const init: Migration = {
  name: "001-init",
  up: (db) => runStatements(db, statements),
};

const statements = [
  `create table projects (
    id text primary key,
    name text not null,
    subdomain text not null unique,
    custom_domain text unique,
    custom_domain_verified smallint not null,
    plan text not null,
    templates_enabled smallint not null,
    link_in_referrer smallint not null,
    max_links integer not null,
    suspended smallint not null,
    created_at bigint not null,
    updated_at bigint not null
  )`,
  `create table tallies (
    project_id text primary key,
    links integer not null,
    generation bigint not null,
    indexed_to text
  )`,
  `create table api_keys (
    id text primary key,
    project_id text,
    token_hash text not null unique,
    scopes text not null,
    role text not null,
    created_at bigint not null,
    updated_at bigint not null
  )`,
  `create table links (
    rowkey integer primary key,
    project_id text not null,
    id text not null,
    name text,
    name_lc text,
    path text not null,
    path_lc text not null,
    shortened_path text,
    shortened_path_lc text,
    url text,
    social_title text,
    social_description text,
    social_image_url text,
    ios_fallback_url text,
    android_fallback_url text,
    enable_forced_redirect smallint not null,
    referrer text,
    ios_deferred_deep_linking_enabled smallint not null,
    provider_token text,
    campaign_token text,
    ios_app_id text,
    android_app_id text,
    clicks bigint not null,
    created_via text not null,
    created_at bigint not null,
    updated_at bigint not null,
    unique (project_id, id)
  )`,
  "create index links_created on links (project_id, created_at, id)",
  // With time and id behind them, a filtered page is found and put in order by the index alone.
  "create index links_path on links (project_id, path_lc, created_at, id)",
  "create index links_name on links (project_id, name_lc, created_at, id)",
  "create index links_clicks on links (project_id, clicks, created_at, id)",
  `create index links_short on links (project_id, shortened_path_lc)
    where shortened_path_lc is not null`,
  `create index links_ios_app on links (project_id, ios_app_id, created_at, id)
    where ios_app_id is not null`,
  `create index links_android_app on links (project_id, android_app_id, created_at, id)
    where android_app_id is not null`,
  `create table addresses (
    project_id text not null,
    address text not null,
    link_id text not null,
    primary key (project_id, address)
  ) without rowid`,
  `create table ios_apps (
    project_id text not null,
    id text not null,
    name text,
    name_lc text,
    bundle_id text not null,
    bundle_id_lc text not null,
    team_id text not null,
    team_id_lc text not null,
    app_store_id text,
    clip_bundle_id text,
    clip_bundle_id_lc text,
    custom_scheme text,
    custom_scheme_lc text,
    created_at bigint not null,
    updated_at bigint not null,
    primary key (project_id, id),
    unique (project_id, bundle_id)
  )`,
  `create table android_apps (
    project_id text not null,
    id text not null,
    name text,
    name_lc text,
    package_name text not null,
    package_name_lc text not null,
    fingerprints text not null,
    custom_scheme text,
    custom_scheme_lc text,
    created_at bigint not null,
    updated_at bigint not null,
    primary key (project_id, id),
    unique (project_id, package_name)
  )`,
  `create table chores (
    kind text not null,
    project_id text not null,
    subject text not null,
    primary key (kind, project_id, subject)
  )`,
];
