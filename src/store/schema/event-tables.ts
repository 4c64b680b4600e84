import type { Engine } from "../../sql/sql.ts";
import { hourColumns } from "../../stats/visit.ts";

/** Visits, installs that follow them, and what webhooks still have to deliver. */
export const makeEventTables = (engine: Engine): readonly string[] => [
  // The day comes before the link: what is written now lies together, whichever links it is of.
  `create table visit_counts (
    project_id text not null,
    dimension text not null,
    day integer not null,
    link_id text not null,
    value text not null,
    event text not null,
    visits integer not null,
    ${hourColumns.map((column) => `${column} integer`).join(",\n    ")},
    primary key (project_id, dimension, day, link_id, value, event)
  )${engine === "sqlite" ? " without rowid" : ""}`,
  `create table deferred_visits (
    project_id text not null,
    id text not null,
    link_id text not null,
    query text not null,
    address text,
    is_shared smallint not null,
    whole text not null,
    marks text not null,
    ends_at bigint not null,
    used_by text,
    told text,
    primary key (project_id, id)
  )`,
  "create index deferred_visits_by_address on deferred_visits (project_id, address, ends_at)",
  "create index deferred_visits_by_end on deferred_visits (ends_at)",
  "create index deferred_visits_by_use on deferred_visits (project_id, used_by)",
  `create table webhooks (
    project_id text not null,
    id text not null,
    url text not null,
    secret text not null,
    events text not null,
    created_at bigint not null,
    next_at bigint not null,
    failures integer not null,
    failing_since bigint,
    last_event text,
    last_at bigint,
    last_fault text,
    dropped bigint not null,
    primary key (project_id, id)
  )`,
  "create index webhooks_of_project on webhooks (project_id, created_at, id)",
  `create table deliveries (
    project_id text not null,
    webhook_id text not null,
    event_id text not null,
    event text not null,
    body text not null,
    state text not null,
    attempts integer not null,
    next_at bigint not null,
    ends_at bigint,
    fault text,
    created_at bigint not null,
    primary key (project_id, webhook_id, event_id)
  )`,
  `create index deliveries_in_order
    on deliveries (project_id, webhook_id, state, created_at, next_at)`,
];
