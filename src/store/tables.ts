import type { AndroidAppValues, IosAppValues } from "../contract/rules/app-rules.ts";
import type { LinkValues } from "../contract/rules/link-rules.ts";
import type { ProjectPages, ProjectValues } from "../contract/rules/project-rules.ts";
import type { Role } from "../contract/scopes-and-roles.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import type { Dimension, HourColumn, VisitEvent } from "../stats/visit.ts";
import type { DeferredVisitTable } from "./deferred-visit-table.ts";
import type { TallyTable } from "./tally-table.ts";

/**
 * The rows as they lie in the database, the same in every engine: flags are 0 or 1, times are
 * milliseconds since 1970, lists are JSON text. `_lc` columns hold the folded text that `cont`,
 * `start` and sorting look at.
 */
export type Tables = {
  readonly projects: ProjectTable;
  readonly tallies: TallyTable;
  readonly api_keys: KeyTable;
  readonly client_keys: ClientKeyTable;
  readonly links: LinkTable;
  readonly addresses: AddressTable;
  readonly short_paths: ShortPathTable;
  readonly ios_apps: IosAppTable;
  readonly android_apps: AndroidAppTable;
  readonly chores: ChoreTable;
  readonly bin: BinTable;
  readonly page_templates: PageTemplateTable;
  readonly page_template_versions: PageTemplateVersionTable;
  readonly request_counts: RequestCountTable;
  readonly visit_counts: VisitCountTable;
  readonly webhooks: WebhookTable;
  readonly deliveries: DeliveryTable;
  readonly deferred_visits: DeferredVisitTable;
  readonly store_secrets: { readonly name: string; readonly value: string };
};

export type Flag = 0 | 1;

type Times = { readonly created_at: number; readonly updated_at: number };

export type OfProject = { readonly project_id: string; readonly id: string };

type Folded<Row, Column extends keyof Row & string> = {
  readonly [Name in Column as `${Name}_lc`]: Row[Name];
};

/** What is yes or no of a project. */
export type ProjectFlag =
  "custom_domain_verified" | "templates_enabled" | "link_in_referrer" | "clipboard" | "suspended";

export type ProjectTable = ProjectValues &
  ProjectPages &
  Readonly<Record<ProjectFlag, Flag>> &
  Times & {
    readonly id: string;
    readonly plan: "free" | "pro";
    readonly max_links: number;
    /** The hosts that links may lead to, with commas between them; null is any. */
    readonly destinations: string | null;
  };

type KeyTable = Times & {
  readonly id: string;
  /** Null for a master key. */
  readonly project_id: string | null;
  readonly token_hash: string;
  readonly scopes: string;
  readonly role: Role;
  /** To a few minutes; null where it was never used. */
  readonly last_used_at: number | null;
};

type ClientKeyTable = {
  readonly id: string;
  readonly project_id: string;
  readonly token_hash: string;
  readonly created_at: number;
};

type LinkFlag = "enable_forced_redirect" | "ios_deferred_deep_linking_enabled";

type LinkTexts = Pick<
  LinkValues,
  | "name"
  | "path"
  | "url"
  | "ios_fallback_url"
  | "android_fallback_url"
  | "referrer"
  | "social_title"
> & { readonly shortened_path: string | null };

/** What is looked into where texts are searched, each beside its text. */
export type FoldedLink = Folded<LinkTexts, keyof LinkTexts>;

export type LinkTable = OfProject &
  Omit<LinkValues, LinkFlag> &
  Readonly<Record<LinkFlag, Flag>> &
  Pick<LinkTexts, "shortened_path"> &
  FoldedLink &
  Times & {
    /** SQLite's own row number, by which the trigram index finds a link. Never seen outside. */
    readonly rowkey?: number;
    readonly ios_app_id: string | null;
    readonly android_app_id: string | null;
    /** The app that it was taken off when that was deleted; it may come back. */
    readonly former_ios_app_id: string | null;
    readonly former_android_app_id: string | null;
    readonly clicks: number;
    readonly created_via: string;
  };

/** A project's paths and shortened paths, which share one namespace, and the link of each. */
type AddressTable = {
  readonly project_id: string;
  readonly address: string;
  readonly link_id: string;
};

/** A short path of a link beside its own. */
type ShortPathTable = {
  readonly project_id: string;
  readonly path: string;
  readonly link_id: string;
  /** What it adds to the link's address, as it was written, without the question mark. */
  readonly query: string;
  /** Counts the short paths of the link with this query, in the order of their creation. */
  readonly place: number;
};

export type IosAppTable = OfProject &
  IosAppValues &
  Folded<IosAppValues, Exclude<keyof IosAppValues, "app_store_id">> &
  Times;

export type AndroidAppTable = OfProject &
  Omit<AndroidAppValues, "fingerprints"> &
  Folded<AndroidAppValues, Exclude<keyof AndroidAppValues, "fingerprints">> &
  Times & { readonly fingerprints: string };

export type PageTemplateTable = OfProject &
  Times & {
    /** The draft. */
    readonly body: string;
    readonly css: string;
    /** The version that links show; null where they show the default page. */
    readonly live_id: string | null;
  };

type PageTemplateVersionTable = OfProject & {
  /** Counts a project's versions from 1: two may be published in the same millisecond. */
  readonly number: number;
  readonly body: string;
  readonly css: string;
  readonly published_at: number;
};

export type AppKind = "ios_app" | "android_app";

export type BinKind = "link" | AppKind;

/** What was deleted and can still be brought back. */
export type BinTable = {
  readonly project_id: string;
  readonly kind: BinKind;
  readonly id: string;
  /** The row as its table had it, as JSON. */
  readonly record: string;
  /** Visits of a link that were written down after its deletion. */
  readonly clicks: number;
  readonly deleted_at: number;
};

/** Long work that was decided on in one transaction and is done in many short ones. */
export type ChoreTable = {
  readonly kind:
    | "purge_project"
    | "detach_ios_app"
    | "detach_android_app"
    | "attach_ios_app"
    | "attach_android_app"
    | "empty_bin"
    | "index_project";
  readonly project_id: string;
  /** The app, or the time up to which the bin is emptied; else nothing. */
  readonly subject: string;
};

/** What one process has counted, for about a minute. */
export type RequestCountTable = {
  /** Whose requests, and of which budget. */
  readonly name: string;
  readonly process: string;
  readonly spent: number;
  readonly ends_at: number;
};

/** How often a link was visited on one day of UTC, by one fact of the visits. */
export type VisitCountTable = {
  readonly project_id: string;
  readonly dimension: Dimension;
  /** Since 1970. */
  readonly day: number;
  /** Empty for all links of the project together. */
  readonly link_id: string;
  /** Empty in the dimension `total`. */
  readonly value: string;
  readonly event: VisitEvent;
  readonly visits: number;
} & {
  /** The visits of one hour of the day; null for none. */
  readonly [Column in HourColumn]: number | null;
};

/** Where a project's events are sent, with the state of the receiver. */
export type WebhookTable = OfProject & {
  readonly url: string;
  /** What its messages are signed with, as its owner was shown it. */
  readonly secret: string;
  /** As JSON. */
  readonly events: string;
  readonly created_at: number;
  /** Before that time, nothing is sent: a process is sending, or the receiver failed too often. */
  readonly next_at: number;
  /** How many attempts in a row have failed, and since when. */
  readonly failures: number;
  readonly failing_since: number | null;
  /** The last attempt; without a fault, it succeeded. */
  readonly last_event: string | null;
  readonly last_at: number | null;
  readonly last_fault: string | null;
  /** How many of its events were dropped because the project's outbox was full. */
  readonly dropped: number;
};

/** An event for a webhook that waits or was given up. One that arrived has no row. */
export type DeliveryTable = {
  readonly project_id: string;
  readonly webhook_id: string;
  /** The same in every attempt, and for every webhook. */
  readonly event_id: string;
  readonly event: WebhookEvent;
  /** As it is sent. */
  readonly body: string;
  readonly state: "waiting" | "dead";
  readonly attempts: number;
  readonly next_at: number;
  /** When it is given up; null until an attempt has failed. */
  readonly ends_at: number | null;
  /** What came of the last attempt. */
  readonly fault: string | null;
  readonly created_at: number;
};

/** A flag as its column holds it; undefined, for a field that is not changed, stays undefined. */
export function toFlag(value: boolean): Flag;
export function toFlag(value: boolean | undefined): Flag | undefined;
export function toFlag(value: boolean | undefined): Flag | undefined {
  return value === undefined ? undefined : value ? 1 : 0;
}
