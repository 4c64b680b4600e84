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
 * Defines all tables of the store, creates them, and chooses what a copy contains. Primary keys
 * start with the project and are not numbered, so that tables can be sharded by project. Flags are
 * 0 or 1, times are milliseconds since 1970, and lists are JSON. `_lc` columns contain case-folded
 * text, for `cont`, `start` and sorting.
 */

type TableColumn<Value> = {
  readonly type: string;
  /** Never set; only its TypeScript type is used. */
  readonly value?: Value;
};

export type StoredFlag = 0 | 1;
export type AppKindName = "ios_app" | "android_app";
export type BinKind = "link" | AppKindName;

const text = textOf<string>();
/** A time, or a number that may grow large. */
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
  // Exactly these names have the column.
  return Object.fromEntries(names.map((name) => [name, column])) as Readonly<
    Record<Name, TableColumn<Value>>
  >;
}

/** Defines text columns, each with a second column for its case-folded text. */
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
  /** The largest tables are first, because a deleted project's rows are deleted in this order. */
  links: {
    ...ofProject,
    ...searched(text, "path"),
    ...searched(orNull(text), "name", "shortened_path", "url", "social_title", "referrer"),
    ...searched(orNull(text), "ios_fallback_url", "android_fallback_url"),
    ...all(orNull(text), "social_description", "social_image_url"),
    ...all(orNull(text), "provider_token", "campaign_token"),
    ...all(flag, "enable_forced_redirect", "ios_deferred_deep_linking_enabled"),
    ...all(orNull(text), "ios_app_id", "android_app_id"),
    // The link's deleted app, which may be restored.
    ...all(orNull(text), "former_ios_app_id", "former_android_app_id"),
    clicks: number,
    created_via: text,
    ...times,
  },
  /** The paths and short paths of a project, which must be unique together, and their links. */
  addresses: all(text, "project_id", "address", "link_id"),
  /** Further short paths of links. */
  short_paths: {
    ...all(text, "project_id", "path", "link_id"),
    /** The query that the path adds to the visit, without the question mark. */
    query: text,
    /** A number for each of the link's short paths with this query, by creation. */
    place: integer,
  },
  /** The number of visits to a link on one UTC day or in one month, by one property. */
  visit_counts: {
    project_id: text,
    dimension: textOf<Dimension>(),
    /** The day, or the first day of the month, in days since 1970. */
    first_day: integer,
    /** Empty for the sum of all links of the project. */
    link_id: text,
    /** Empty for the dimensions `total` and `month`. */
    value: text,
    event: textOf<VisitEvent>(),
    visits: integer,
    // The visits in each hour of the day. Null means no visits; months have only nulls.
    ...all(orNull(integer), ...hourColumns),
  },
  /**
   * Deleted rows. A table of their own means that lists, counts and unique keys need not skip them.
   */
  bin: {
    project_id: text,
    kind: textOf<BinKind>(),
    id: text,
    /** The deleted row, as JSON. */
    record: text,
    /** Visits of a link that were stored after its deletion. */
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
  /** Columns that change with every write to links, separate from the project's settings. */
  tallies: {
    project_id: text,
    links: number,
    /**
     * Increases with every write to links, apps or templates. Cached counts of lists are then
     * outdated.
     */
    generation: number,
    /** The highest link id in the project's trigram index; null for a project without an index. */
    indexed_to: orNull(text),
    /**
     * Increases when visits are stored. Cached counts of lists that filter by clicks are then
     * outdated.
     */
    clicked: number,
    /** The project's number of webhooks. If it is 0, a write skips the query for webhooks. */
    webhooks: integer,
  },
  api_keys: {
    id: text,
    /** Null for a master key. */
    project_id: orNull(text),
    token_hash: text,
    scopes: text,
    role: textOf<Role>(),
    /** Exact to a few minutes; null for an unused key. */
    last_used_at: orNull(number),
    ...times,
  },
  client_keys: { ...ofProject, token_hash: text, created_at: number },
  page_templates: {
    ...ofProject,
    /** The text of the draft. */
    ...all(text, "body", "css"),
    /** The version that the project's links show; null for the default page. */
    live_id: orNull(text),
    ...times,
  },
  page_template_versions: {
    ...ofProject,
    /** The version's number within the project, because two can be published in one millisecond. */
    number,
    ...all(text, "body", "css"),
    published_at: number,
  },
  /** Background tasks. One transaction queues the work, and many short ones do it. */
  chores: {
    project_id: text,
    kind: textOf<"purge_project" | `${"detach" | "attach"}_${AppKindName}` | "index_project">(),
    /** The app's id, or empty. */
    subject: text,
  },
  /**
   * A visit that may lead to an install. The phone and its IP address are stored only as keyed
   * hashes.
   */
  deferred_visits: {
    ...ofProject,
    link_id: text,
    /** The query of the requested URL. */
    query: text,
    /** The hash of the visitor's IP address; null if unknown. */
    address: orNull(text),
    /** 1 for an IP address that many people share. */
    is_shared: flag,
    /** One hash of all properties of the phone. */
    whole: text,
    /** The hash of each property, as JSON. */
    marks: text,
    ends_at: number,
    /** The hash of the install that used this visit; null if the install sent no id. */
    used_by: orNull(text),
    /** The response to that install, as JSON; null until the visit is used. */
    told: orNull(text),
  },
  /** The receivers of a project's events, and their current state. */
  webhooks: {
    ...ofProject,
    url: text,
    /** The key for signatures, as shown to its owner. */
    secret: text,
    /** A JSON list of event names. */
    events: text,
    created_at: number,
    /**
     * Nothing is sent before this time. Either a process is sending now, or the receiver failed too
     * often.
     */
    next_at: number,
    /** The number of consecutive failed attempts, and when the first of them failed. */
    failures: integer,
    failing_since: orNull(number),
    /** The last attempt. If `last_fault` is null, it succeeded. */
    last_event: orNull(text),
    last_at: orNull(number),
    last_fault: orNull(text),
    /** The number of events that were dropped because the project's outbox was full. */
    dropped: number,
  },
  /**
   * An event that waits for delivery to a webhook, or that failed permanently. Delivered events
   * have no row.
   */
  deliveries: {
    ...all(text, "project_id", "webhook_id"),
    /** The same id in every attempt and for every webhook. */
    event_id: text,
    event: textOf<WebhookEvent>(),
    /** The message as it is sent. */
    body: text,
    state: textOf<"waiting" | "dead">(),
    attempts: integer,
    next_at: number,
    /** The time after which the event is given up; null until an attempt has failed. */
    ends_at: orNull(number),
    /** The reason why the last attempt failed. */
    fault: orNull(text),
    created_at: number,
  },
  /** The number of requests that one process has recently counted against a rate limit. */
  request_counts: {
    /** The key or a hash of the IP address, with the limit's name. */
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
  // The day comes before the link, so that rows of the same day are next to each other.
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

/** A list of all tables with their primary keys. */
export const tableList = Object.entries<TableColumns>(tables).map(([name, columns]) => {
  return { name, columns, key: otherKeys[name] ?? ["project_id", "id"] };
});

type RowOf<Named> = {
  readonly [Name in keyof Named]: Named[Name] extends TableColumn<infer Value> ? Value : never;
};

export type Tables = {
  readonly [Name in keyof typeof tables]: RowOf<(typeof tables)[Name]>;
} & {
  /** SQLite's row number, which the trigram index uses. No API response contains it. */
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

/** A project's setting that is on or off. */
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

/** Returns the case-folded text of each given value in a searched column. */
export function foldTexts<Name extends keyof typeof tables, Row extends object>(
  name: Name,
  row: Row,
): FoldedTexts<Row, Tables[Name]> {
  const folded: Record<string, unknown> = {};
  // Any object's values can be looked up by name.
  const cells = row as Readonly<Record<string, unknown>>;
  for (const { column, key } of searchedColumns[name] ?? []) {
    const value = cells[column];
    if (value !== undefined) folded[key] = typeof value === "string" ? fold(value) : value;
  }
  // All searched columns contain text, and so do their case-folded columns.
  return folded as FoldedTexts<Row, Tables[Name]>;
}

/** Converts a flag for its column. Undefined means an unchanged field and stays undefined. */
export function toFlag(value: boolean): StoredFlag;
export function toFlag(value: boolean | undefined): StoredFlag | undefined;
export function toFlag(value: boolean | undefined): StoredFlag | undefined {
  return value === undefined ? undefined : value ? 1 : 0;
}

export type Db = Kysely<Tables>;

/**
 * One project's rows in a database. All reads and writes of project data take a Tenant, so that no
 * query can omit the project.
 */
export type Tenant = { readonly db: Db; readonly projectId: string };

const uniqueKeys: Readonly<Record<string, readonly string[]>> = {
  short_paths: ["project_id, link_id, query, place"],
  ios_apps: ["project_id, bundle_id"],
  android_apps: ["project_id, package_name"],
  projects: ["subdomain", "custom_domain"],
  // Tokens are looked up before the project is known.
  api_keys: ["token_hash"],
  client_keys: ["token_hash"],
  page_template_versions: ["project_id, number"],
};

/** Tables with short rows that are read by key. SQLite stores these rows within the key's index. */
const keyedTables: ReadonlySet<string> = new Set(["addresses", "visit_counts"]);

const indexes: readonly string[] = [
  // These indexes end with time and id, so they both filter and sort a page.
  "create index links_path on links (project_id, path_lc, created_at, id)",
  "create index links_name on links (project_id, name_lc, created_at, id)",
  "create index links_clicks on links (project_id, clicks, created_at, id)",
  // This index must be the last. If no index fits a filter, SQLite scans the project by its newest
  // index. Only this index has the rows in the order of the file, which is four times as fast.
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
  // The trigram index of SQLite finds a link by its row number.
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

/** The texts of a link that are in the trigram index. */
export const indexedColumns = ["name", "path", "shortened_path", "url", "social_title"] as const;
export type IndexedColumn = (typeof indexedColumns)[number];

export const trigrams = indexedColumns.map((column) => `${column}_lc gin_trgm_ops`).join(", ");

/**
 * Indexes the texts for `cont` filters, if the server allows the extension pg_trgm. Otherwise these
 * filters read every link, and `waypost doctor` reports that. With btree_gin, the index starts with
 * the project, so no search reads texts of other projects.
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

/**
 * Tables that are not copied: request counts, visits that soon expire, and the key for their
 * hashes.
 */
const left: readonly string[] = ["request_counts", "deferred_visits", "store_secrets"];
/** Columns that are not copied. A copy numbers its rows itself and builds its own index. */
const leaves: Readonly<Record<string, readonly string[]>> = {
  tallies: ["indexed_to"],
  links: ["rowkey"],
};

export const storeDatabase: KnownDatabase = {
  file: "waypost.db",
  // "WAYP" in the file's header.
  applicationId: 0x57415950,
  migrations: storeMigrations,
  tables: tableList
    .filter(({ name }) => !left.includes(name))
    .map(({ name, key }) => ({ name, key, leaves: leaves[name] ?? [] })),
  left,
};
