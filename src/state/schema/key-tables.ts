import { rowNumber } from "../../sql/migrate.ts";
import type { Engine } from "../../sql/sql.ts";

/** Approvals, what keys may do and have done, previews, and the console's sign-ins. */
export function makeKeyTables(engine: Engine): readonly string[] {
  return [...sharedTables, ...(engine === "sqlite" ? sqliteTables : postgresTables)];
}

const sharedTables = [
  `create table approvals (
    id text primary key,
    digest text not null,
    key_print text not null,
    pin text,
    channel text not null,
    status text not null,
    preview text not null,
    pin_tries bigint not null,
    created_at bigint not null,
    expires_at bigint not null
  )`,
  "create index approvals_by_digest on approvals (digest, channel)",
  "create index approvals_by_end on approvals (expires_at)",
  `create table secrets (
    name text primary key,
    value text not null
  )`,
  `create table overwrite_grants (
    key_print text primary key,
    remaining bigint not null,
    granted_at bigint not null
  )`,
  `create table known_access (
    key_print text not null,
    origin text not null,
    tool text not null,
    state text not null,
    reason text,
    shows_kind bigint not null,
    at bigint not null,
    until bigint not null,
    primary key (key_print, origin, tool)
  )`,
  "create index known_access_by_end on known_access (until)",
  `create table hidden_forms (
    key_print text not null,
    client text not null,
    at bigint not null,
    primary key (key_print, client)
  )`,
  "create index hidden_forms_by_time on hidden_forms (at)",
  `create table previews (
    token_hash text not null primary key,
    key_print text not null,
    html text not null,
    expires_at bigint not null
  )`,
  "create index previews_by_key on previews (key_print, expires_at)",
  "create index previews_by_end on previews (expires_at)",
  `create table console_sessions (
    token_hash text not null primary key,
    kind text not null,
    sealed text not null,
    expires_at bigint not null
  )`,
  "create index console_sessions_by_end on console_sessions (expires_at)",
];

const tryColumns = `
    key_print text not null,
    at bigint not null`;

const makeSignInTries = (engine: Engine) => [
  `create table sign_in_tries (
    id ${rowNumber[engine]},
    address text not null,
    at bigint not null
  )`,
  "create index sign_in_tries_by_address on sign_in_tries (address, at)",
  "create index sign_in_tries_by_time on sign_in_tries (at)",
];

const sqliteTables = [
  `create table pin_tries (${tryColumns}
  )`,
  "create index pin_tries_by_key on pin_tries (key_print, at)",
  `create table overwrites (
    id ${rowNumber.sqlite},${tryColumns}
  )`,
  "create index overwrites_by_time on overwrites (key_print, at)",
  ...makeSignInTries("sqlite"),
];

const postgresTables = [
  `create table pin_tries (
    rowid ${rowNumber.postgres},${tryColumns}
  )`,
  "create index pin_tries_by_key on pin_tries (key_print, at)",
  "create index pin_tries_by_time on pin_tries (at)",
  `create table overwrites (
    id ${rowNumber.postgres},${tryColumns}
  )`,
  "create index overwrites_by_key on overwrites (key_print, at)",
  "create index overwrites_by_time on overwrites (at)",
  "create index overwrite_grants_by_time on overwrite_grants (granted_at)",
  ...makeSignInTries("postgres"),
];
