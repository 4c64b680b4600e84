import type { Engine } from "../../sql/sql.ts";

/**
 * Links, their addresses and apps, and the bin. Deleted rows are in a table of their own, so that
 * no list, count, index or unique key has to skip them.
 */
export function makeLinkTables(engine: Engine): readonly string[] {
  return [...(engine === "sqlite" ? sqliteTables : postgresTables), ...sharedTables];
}

const linkColumns = `
    project_id text not null,
    id text not null,
    name text,
    name_lc text,
    path text not null,
    path_lc text not null,
    shortened_path text,
    shortened_path_lc text,
    url text,
    url_lc text,
    social_title text,
    social_title_lc text,
    social_description text,
    social_image_url text,
    ios_fallback_url text,
    ios_fallback_url_lc text,
    android_fallback_url text,
    android_fallback_url_lc text,
    enable_forced_redirect smallint not null,
    referrer text,
    referrer_lc text,
    ios_deferred_deep_linking_enabled smallint not null,
    provider_token text,
    campaign_token text,
    ios_app_id text,
    android_app_id text,
    former_ios_app_id text,
    former_android_app_id text,
    clicks bigint not null,
    created_via text not null,
    created_at bigint not null,
    updated_at bigint not null`;

const addressColumns = `
    project_id text not null,
    address text not null,
    link_id text not null,
    primary key (project_id, address)`;

// The trigram index finds a link by its row number.
const sqliteTables = [
  `create table links (
    rowkey integer primary key,${linkColumns},
    unique (project_id, id)
  )`,
  `create table addresses (${addressColumns}
  ) without rowid`,
];

const postgresTables = [
  `create table links (${linkColumns},
    primary key (project_id, id)
  )`,
  `create table addresses (${addressColumns}
  )`,
];

const sharedTables = [
  // With time and id as their last columns, these indexes filter a page and put it in order.
  "create index links_path on links (project_id, path_lc, created_at, id)",
  "create index links_name on links (project_id, name_lc, created_at, id)",
  "create index links_clicks on links (project_id, clicks, created_at, id)",
  // This one comes last: without an index for a filter, SQLite scans a project by its newest index.
  // It has the rows as they lie in the file, and any other index takes four times as long.
  "create index links_created on links (project_id, created_at, id)",
  `create index links_short on links (project_id, shortened_path_lc)
    where shortened_path_lc is not null`,
  `create index links_ios_app on links (project_id, ios_app_id, created_at, id)
    where ios_app_id is not null`,
  `create index links_android_app on links (project_id, android_app_id, created_at, id)
    where android_app_id is not null`,
  `create index links_of_no_app on links (project_id, created_at, id)
    where ios_app_id is null and android_app_id is null`,
  `create index links_former_ios_app on links (project_id, former_ios_app_id, id)
    where former_ios_app_id is not null`,
  `create index links_former_android_app on links (project_id, former_android_app_id, id)
    where former_android_app_id is not null`,
  `create table short_paths (
    project_id text not null,
    path text not null,
    link_id text not null,
    query text not null,
    place integer not null,
    primary key (project_id, link_id, path),
    unique (project_id, link_id, query, place)
  )`,
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
];
