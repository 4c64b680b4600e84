import { sql, type Kysely } from "kysely";
import type { Role } from "../contract/rights.ts";
import { fold } from "../contract/text.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import {
  createInitialMigration,
  type KnownDatabase,
  type Migration,
  type Migrations,
} from "../sql/migrate.ts";
import type { Engine } from "../sql/sql.ts";
import { hourColumns, type Dimension, type HourColumn, type VisitEvent } from "../stats/visit.ts";

/**
 * Defines and creates the tables of the store, and lists what is copied to another database. Keys
 * of project data start with the project's id and contain no sequence numbers, so that tables can
 * be sharded by project. Flags are 0 or 1, times are milliseconds since 1970, and lists are JSON.
 * Columns named `…_lc` contain case-folded text, for the conditions `cont` and `start` and for
 * sorting.
 */

type TableColumn<Value> = {
  readonly type: string;
  /** Never set. Only carries the column's TypeScript type. */
  readonly value?: Value;
};

export type StoredFlag = 0 | 1;
export type AppKindName = "ios_app" | "android_app";
export type BinKind = "link" | AppKindName;

const text = textOf<string>();
/** A time, or a number that may exceed 32 bits. */
const number: TableColumn<number> = { type: "bigint not null" };
const integer: TableColumn<number> = { type: "integer not null" };
const flag: TableColumn<StoredFlag> = { type: "smallint not null" };

function textOf<Value extends string>(): TableColumn<Value> {
  return { type: "text not null" };
}

function orNull<Value>({ type }: TableColumn<Value>): TableColumn<Value | null> {
  return { type: type.replace(" not null", "") };
}

function all<Name extends string, Value>(column: TableColumn<Value>, ...names: readonly Name[]) {
  // The cast is needed, because TypeScript widens the names to strings here.
  return Object.fromEntries(names.map((name) => [name, column])) as Readonly<
    Record<Name, TableColumn<Value>>
  >;
}

/** Defines text columns, each with a second column for the case-folded text. */
function searched<Name extends string, Value>(
  column: TableColumn<Value>,
  ...names: readonly Name[]
) {
  const folded = names.map((name) => `${name}_lc` as const);
  return all<Name | `${Name}_lc`, Value>(column, ...names, ...folded);
}

const ofProject = all(text, "project_id", "id");
const times = all(number, "created_at", "updated_at");

export const tables = {
  /** A deleted project's rows are deleted in the order of these tables, largest tables first. */
  links: {
    ...ofProject,
    ...searched(text, "path"),
    ...searched(orNull(text), "name", "shortened_path", "url", "social_title", "referrer"),
    ...searched(orNull(text), "ios_fallback_url", "android_fallback_url"),
    ...all(orNull(text), "social_description", "social_image_url"),
    ...all(orNull(text), "provider_token", "campaign_token"),
    ...all(flag, "enable_forced_redirect", "ios_deferred_deep_linking_enabled"),
    ...all(orNull(text), "ios_app_id", "android_app_id"),
    // Deleted apps of this link. Restoring an app attaches it to the link again.
    ...all(orNull(text), "former_ios_app_id", "former_android_app_id"),
    clicks: number,
    created_via: text,
    ...times,
  },
  /** All paths and short paths with their links. Each path is unique within a project. */
  addresses: all(text, "project_id", "address", "link_id"),
  /** Short paths that links have in addition to `shortened_path`. */
  short_paths: {
    ...all(text, "project_id", "path", "link_id"),
    /** The query that this path adds to a visit, without the question mark. */
    query: text,
    /** Numbers the link's short paths with the same query, oldest first. */
    place: integer,
  },
  /** The number of visits in one day or month (UTC), by link and by one property of the visits. */
  visit_counts: {
    project_id: text,
    dimension: textOf<Dimension>(),
    /** The day, or the first day of the month, in days since 1970. */
    first_day: integer,
    /** The link; empty for the sum over all links. */
    link_id: text,
    /** The property's value; empty for the dimensions `total` and `month`. */
    value: text,
    event: textOf<VisitEvent>(),
    visits: integer,
    // Visits per hour of the day; null for no visits. Always null in rows for whole months.
    ...all(orNull(integer), ...hourColumns),
  },
  /** Deleted links and apps, in a separate table so that other queries need not skip them. */
  bin: {
    project_id: text,
    kind: textOf<BinKind>(),
    id: text,
    /** The deleted row, as JSON. */
    record: text,
    /** Clicks of a deleted link that were stored after its deletion. */
    clicks: number,
    deleted_at: number,
  },
  ios_apps: {
    ...ofProject,
    ...searched(text, "bundle_id", "team_id"),
    ...searched(orNull(text), "name", "clip_bundle_id", "custom_scheme"),
    app_store_id: orNull(text),
    ...times,
  },
  android_apps: {
    ...ofProject,
    ...searched(text, "package_name"),
    ...searched(orNull(text), "name", "custom_scheme"),
    fingerprints: text,
    ...times,
  },
  projects: {
    ...all(text, "id", "name", "subdomain"),
    custom_domain: orNull(text),
    plan: textOf<"free" | "pro">(),
    max_links: number,
    ...all(flag, "custom_domain_verified", "templates_enabled", "link_in_referrer"),
    ...all(flag, "clipboard", "suspended"),
    /** The hosts that links may redirect to, separated by commas; null allows all. */
    destinations: orNull(text),
    ...all(orNull(text), "home_url", "not_found_url"),
    ...times,
  },
  /** Numbers that change with most writes, so they are not stored with the project's settings. */
  tallies: {
    project_id: text,
    links: number,
    /** Increases with every write to links, apps or templates. Part of the cache keys of counts. */
    generation: number,
    /** The last link id in the trigram index; `~` if the index is complete, null if none exists. */
    indexed_to: orNull(text),
    /**
     * Increases when clicks are stored. Part of the cache keys of counts with a filter by clicks.
     */
    clicked: number,
    /** The number of webhooks. If it is 0, writes need no query for webhooks. */
    webhooks: integer,
  },
  api_keys: {
    id: text,
    /** Null for a master key. */
    project_id: orNull(text),
    token_hash: text,
    scopes: text,
    role: textOf<Role>(),
    /** The last use, accurate to a few minutes; null for an unused key. */
    last_used_at: orNull(number),
    ...times,
  },
  client_keys: { ...ofProject, token_hash: text, created_at: number },
  page_templates: {
    ...ofProject,
    ...all(text, "body", "css"),
    /** The published version; null for the default page. */
    live_id: orNull(text),
    ...times,
  },
  page_template_versions: {
    ...ofProject,
    /** Orders the project's versions, because two can have the same `published_at`. */
    number,
    ...all(text, "body", "css"),
    published_at: number,
  },
  chores: {
    project_id: text,
    kind: textOf<"purge_project" | `${"detach" | "attach"}_${AppKindName}` | "index_project">(),
    /** The id of the task's app; empty for tasks that do not concern an app. */
    subject: text,
  },
  /** A visit that an install may match. Phones and IP addresses are stored only as keyed hashes. */
  deferred_visits: {
    ...ofProject,
    link_id: text,
    /** The query of the requested URL. */
    query: text,
    /** The hash of the visitor's IP address; null if the IP address is unknown. */
    address: orNull(text),
    /** 1 for an IP address that many people share. */
    is_shared: flag,
    /** One hash of the phone's properties and its IP address together. */
    whole: text,
    /** The hashes of single properties, as JSON. */
    marks: text,
    ends_at: number,
    /** The hash of the install that used this visit; null if none did or it is unknown. */
    used_by: orNull(text),
    /** The response to the matched install, as JSON; null while the visit is unused. */
    told: orNull(text),
  },
  /** The webhooks of projects, with the state of their deliveries. */
  webhooks: {
    ...ofProject,
    url: text,
    /** The signing secret, as shown to the webhook's owner. */
    secret: text,
    /** The names of the subscribed events, as a JSON list. */
    events: text,
    created_at: number,
    /** Nothing is sent before this time. It is postponed by a claim and by failed attempts. */
    next_at: number,
    /** The number of consecutive failed attempts, and the time of the first one. */
    failures: integer,
    failing_since: orNull(number),
    /** The last attempt. It succeeded if `last_fault` is null. */
    last_event: orNull(text),
    last_at: orNull(number),
    last_fault: orNull(text),
    /** The number of events dropped because the project's outbox was full. */
    dropped: number,
  },
  /** An event that waits for delivery to a webhook, or that failed permanently. */
  deliveries: {
    ...all(text, "project_id", "webhook_id"),
    /** The event's id, which is the same for every attempt and every webhook. */
    event_id: text,
    event: textOf<WebhookEvent>(),
    body: text,
    state: textOf<"waiting" | "dead">(),
    attempts: integer,
    next_at: number,
    /** When to stop retrying; null until an attempt has failed. */
    ends_at: orNull(number),
    fault: orNull(text),
    created_at: number,
  },
  /** How many requests each process has counted against a rate limit. */
  request_counts: {
    /** The limit's name, with the key's id or a hash of the IP address. */
    name: text,
    process: text,
    ...all(number, "spent", "ends_at"),
  },
  store_secrets: all(text, "name", "value"),
} as const satisfies Readonly<Record<string, TableColumns>>;

export type TableColumns = Readonly<Record<string, TableColumn<unknown>>>;

const otherKeys: Readonly<Record<string, readonly string[]>> = {
  addresses: ["project_id", "address"],
  short_paths: ["project_id", "link_id", "path"],
  // The day comes before the link, so that rows of the same day are stored together.
  visit_counts: ["project_id", "dimension", "first_day", "link_id", "value", "event"],
  bin: ["project_id", "kind", "id"],
  projects: ["id"],
  tallies: ["project_id"],
  api_keys: ["id"],
  page_templates: ["project_id"],
  chores: ["project_id", "kind", "subject"],
  deliveries: ["project_id", "webhook_id", "event_id"],
  request_counts: ["name", "process"],
  store_secrets: ["name"],
};

export const tableList = Object.entries<TableColumns>(tables).map(([name, columns]) => {
  return { name, columns, key: otherKeys[name] ?? ["project_id", "id"] };
});

type RowOf<Named> = {
  readonly [Name in keyof Named]: Named[Name] extends TableColumn<infer Value> ? Value : never;
};

export type Tables = {
  readonly [Name in keyof typeof tables]: RowOf<(typeof tables)[Name]>;
} & {
  /** The row's number in SQLite, for the trigram index. The API never returns it. */
  readonly links: { readonly rowkey?: number };
  readonly visit_counts: Readonly<Record<HourColumn, number | null>>;
};

export type LinkTable = Tables["links"];
export type ProjectTable = Tables["projects"];
export type TaskTable = Tables["chores"];
export type VisitCountTable = Tables["visit_counts"];
export type WebhookTable = Tables["webhooks"];
export type DeliveryTable = Tables["deliveries"];
export type RequestCountTable = Tables["request_counts"];
export type DeferredVisitTable = Tables["deferred_visits"];

export type ProjectFlag =
  "custom_domain_verified" | "templates_enabled" | "link_in_referrer" | "clipboard" | "suspended";

type FoldedTexts<Row, Table> = {
  readonly [Name in keyof Row as `${Name & string}_lc` & keyof Table]: Row[Name];
};

const searchedColumns: Readonly<Record<string, readonly { column: string; key: string }[]>> =
  Object.fromEntries(
    Object.entries<TableColumns>(tables).map(([name, columns]) => {
      const all = Object.keys(columns).map((column) => ({ column, key: `${column}_lc` }));
      return [name, all.filter(({ key }) => key in columns)];
    }),
  );

/** Returns the case-folded columns for the searched columns in this row. */
export function foldTexts<Name extends keyof typeof tables, Row extends object>(
  name: Name,
  row: Row,
): FoldedTexts<Row, Tables[Name]> {
  const folded: Record<string, unknown> = {};
  // TypeScript does not allow looking up an object's values by an arbitrary name.
  const cells = row as Readonly<Record<string, unknown>>;
  for (const { column, key } of searchedColumns[name] ?? []) {
    const value = cells[column];
    if (value !== undefined) folded[key] = typeof value === "string" ? fold(value) : value;
  }
  // The cast is safe, because searched columns contain only text or null.
  return folded as FoldedTexts<Row, Tables[Name]>;
}

/** Converts a boolean to its stored form. Undefined means unchanged, and stays undefined. */
export function toFlag(value: boolean): StoredFlag;
export function toFlag(value: boolean | undefined): StoredFlag | undefined;
export function toFlag(value: boolean | undefined): StoredFlag | undefined {
  return value === undefined ? undefined : value ? 1 : 0;
}

export type Db = Kysely<Tables>;

/** Functions for project data take a `Tenant`, so that none can omit the project. */
export type Tenant = { readonly db: Db; readonly projectId: string };

const uniqueKeys: Readonly<Record<string, readonly string[]>> = {
  short_paths: ["project_id, link_id, query, place"],
  ios_apps: ["project_id, bundle_id"],
  android_apps: ["project_id, package_name"],
  projects: ["subdomain", "custom_domain"],
  // Unique across projects, because a token is looked up before its project is known.
  api_keys: ["token_hash"],
  client_keys: ["token_hash"],
  page_template_versions: ["project_id, number"],
};

/** Tables with short rows that are looked up by key. SQLite stores the rows in the key's index. */
const keyedTables: ReadonlySet<string> = new Set(["addresses", "visit_counts"]);

const indexes: readonly string[] = [
  // These indexes end with time and id, so one index serves both filtering and sorting.
  "create index links_path on links (project_id, path_lc, created_at, id)",
  "create index links_name on links (project_id, name_lc, created_at, id)",
  "create index links_clicks on links (project_id, clicks, created_at, id)",
  // This must be the last index on `links` without a condition. If no index fits a filter, SQLite
  // scans the newest such index. This one is in the order of the file, so the scan is much faster.
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
  "create index bin_age on bin (project_id, deleted_at, kind, id)",
  "create index bin_by_age on bin (deleted_at)",
  "create index client_keys_of_project on client_keys (project_id, created_at)",
  "create index deferred_visits_by_address on deferred_visits (project_id, address, ends_at)",
  "create index deferred_visits_by_end on deferred_visits (ends_at)",
  "create index deferred_visits_by_use on deferred_visits (project_id, used_by)",
  "create index webhooks_of_project on webhooks (project_id, created_at, id)",
  `create index deliveries_in_order
    on deliveries (project_id, webhook_id, state, created_at, next_at)`,
  "create index request_counts_by_end on request_counts (ends_at)",
];

const createTables = createInitialMigration((engine) => [
  ...tableList.map((table) => writeTable(engine, table)),
  ...indexes,
]);

const initialMigration: Migration = {
  name: createTables.name,
  up: async (db, engine) => {
    await createTables.up(db, engine);
    if (engine === "postgres") await indexTexts(db);
  },
};

export const storeMigrations: Migrations = {
  table: "waypost_migrations",
  list: [initialMigration],
};

function writeTable(engine: Engine, { name, columns, key }: (typeof tableList)[number]): string {
  // SQLite's trigram index refers to links by row number.
  const isNumbered = engine === "sqlite" && name === "links";
  const lines = [
    ...(isNumbered ? ["rowkey integer primary key"] : []),
    ...Object.entries(columns).map(([column, { type }]) => `${column} ${type}`),
    `${isNumbered ? "unique" : "primary key"} (${key.join(", ")})`,
    ...(uniqueKeys[name] ?? []).map((unique) => `unique (${unique})`),
  ];
  const end = engine === "sqlite" && keyedTables.has(name) ? ") without rowid" : ")";
  return `create table ${name} (\n  ${lines.join(",\n  ")}\n${end}`;
}

export const indexedColumns = ["name", "path", "shortened_path", "url", "social_title"] as const;
export type IndexedColumn = (typeof indexedColumns)[number];

export const trigrams = indexedColumns.map((column) => `${column}_lc gin_trgm_ops`).join(", ");

/**
 * Creates the trigram index for `cont` filters, if the server allows the extension pg_trgm.
 * Otherwise these filters read every link, and `waypost doctor` reports that. With btree_gin, the
 * index starts with the project, so a search reads no text of other projects.
 */
async function indexTexts(db: Kysely<unknown>): Promise<void> {
  const hasTrigrams = await tryStatement(db, "create extension if not exists pg_trgm");
  if (!hasTrigrams) return;
  const hasProjects = await tryStatement(db, "create extension if not exists btree_gin");
  const first = hasProjects ? "project_id, " : "";
  await tryStatement(db, `create index links_texts on links using gin (${first}${trigrams})`);
}

/** Runs a statement. If it fails, only this statement is rolled back. */
async function tryStatement(db: Kysely<unknown>, statement: string): Promise<boolean> {
  await sql`savepoint before_it`.execute(db);
  try {
    await sql.raw(statement).execute(db);
    return true;
  } catch {
    await sql`rollback to savepoint before_it`.execute(db);
    return false;
  } finally {
    await sql`release savepoint before_it`.execute(db);
  }
}

/** Tables that are not copied: two with short-lived rows, and the one with the key for them. */
const left: readonly string[] = ["request_counts", "deferred_visits", "store_secrets"];
/** Columns that are not copied, because the new database fills them itself. */
const leaves: Readonly<Record<string, readonly string[]>> = {
  tallies: ["indexed_to"],
  links: ["rowkey"],
};

export const storeDatabase: KnownDatabase = {
  file: "waypost.db",
  // The letters "WAYP", in the header of the SQLite file.
  applicationId: 0x57415950,
  migrations: storeMigrations,
  tables: tableList
    .filter(({ name }) => !left.includes(name))
    .map(({ name, key }) => ({ name, key, leaves: leaves[name] ?? [] })),
  left,
};
