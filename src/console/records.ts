import type { ReceivedData } from "../contract/endpoint.ts";
import type { ReceivedMeta } from "../contract/fields.ts";
import type { FilterInput } from "../contract/filters.ts";
import type { LinkStats } from "../contract/link-stats.ts";
import type { ReadLink } from "../contract/links.ts";
import type { Project } from "../contract/projects.ts";

/** The fields of tool results that the console shows. Tools omit empty and false fields. */

export type Records = {
  readonly link: ReadLink;
  readonly ios_app: ListedApp;
  readonly android_app: ListedApp;
  readonly project: ReceivedData<Project>;
};
export type RecordKind = keyof Records;

type Paged<Name extends string, Row> = { readonly [Rows in Name]: readonly Row[] } & {
  readonly meta?: ReceivedMeta;
};

export type ToolResults = {
  readonly list_links: Paged<"links", ListedLink>;
  readonly get_link: { readonly link: LinkAddresses };
  readonly explain_link: LinkExplanation;
  readonly link_stats: { readonly stats: ShownStats };
  readonly list_ios_apps: ListedApps;
  readonly list_android_apps: ListedApps;
  readonly list_projects: Paged<"projects", Records["project"]>;
  readonly list_changes: Paged<"changes", ListedChange>;
  readonly list_jobs: Paged<"jobs", ListedJob>;
  readonly get_job: { readonly job: ListedJob };
  readonly plan_links: { readonly plan: { readonly id: string } };
  readonly audit_links: { readonly audit: Audit; readonly meta?: ReceivedMeta };
  readonly check_domain: { readonly domain: ShownDomainReport };
  readonly get_template_version: {
    readonly version: { readonly body?: string; readonly css?: string };
  };
  readonly list_template_versions: { readonly versions: readonly ListedVersion[] };
  readonly preview_template: TemplatePreview;
};

/** The result of a tool that changes data: the changed record, if the tool returns it. */
export type ChangedRecord = { readonly [kind: string]: { readonly id?: string } | undefined };

export type ListedLink = Pick<ReadLink, "id"> & {
  readonly name?: string;
  readonly path?: string;
  readonly destination?: string;
  readonly clicks?: number;
  readonly ios_app?: string;
  readonly android_app?: string;
};

export type ListedApp = {
  readonly id: string;
  readonly name?: string;
  readonly bundle_id?: string;
  readonly package_name?: string;
};

/** A list of iOS apps or of Android apps: only one of the two properties is set. */
type ListedApps = {
  readonly ios_apps?: readonly ListedApp[];
  readonly android_apps?: readonly ListedApp[];
  readonly meta?: ReceivedMeta;
};

/** The URLs are missing if the link host is unknown. */
export type LinkAddresses = Pick<ListedLink, "name" | "path"> & {
  readonly address?: string;
  readonly short_address?: string;
};

export type ShownOutcome = { readonly action: string; readonly to?: string };

export type MobileOutcomes = {
  readonly with_app: ShownOutcome;
  readonly without_app: ShownOutcome;
};

export type LinkExplanation = {
  readonly visits: {
    readonly ios: MobileOutcomes;
    readonly android: MobileOutcomes;
    readonly desktop: ShownOutcome;
  };
  readonly problems?: readonly ShownProblem[];
};

export type ShownStats = Pick<LinkStats, "by" | "sentence"> & {
  readonly rows: readonly StatsRow[];
};

/** Tools omit `opens` and `installs` when they are zero. */
export type StatsRow = {
  readonly key: string;
  readonly clicks: number;
  readonly opens?: number;
  readonly installs?: number;
};

export type ListedChange = {
  readonly id: string;
  readonly at: string;
  readonly tool: string;
  readonly client?: string;
  readonly by?: string;
  readonly target: {
    readonly kind: string;
    readonly id: string | null;
    readonly name?: string;
  };
  readonly fields: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
  readonly end?: "unknown";
  readonly note?: string;
  readonly undone_by?: string;
};

export type ListedJob = {
  readonly id: string;
  readonly plan_id: string;
  readonly state: "running" | "done" | "cancelled" | "interrupted";
  readonly what: string;
  readonly counts: Readonly<Record<"done" | "rejected" | "unknown" | "left", number>>;
  readonly seconds_left?: number;
  readonly message?: string;
  readonly created_at: string;
};

export type JobRow = {
  readonly row?: number;
  readonly action: string;
  readonly outcome: "done" | "rejected" | "unknown" | "left";
  readonly id?: string;
  readonly path?: string;
  readonly message?: string;
};

export type Audit = {
  readonly checked: number;
  readonly groups: readonly AuditGroup[];
  readonly not_checked?: readonly string[];
  readonly next?: { readonly arguments: { readonly filters?: readonly FilterInput[] } };
};

export type AuditGroup = {
  readonly code: string;
  readonly field?: string;
  readonly count: number;
  readonly message: string;
  readonly ids: readonly string[];
  readonly filters?: readonly FilterInput[];
  readonly fix?: { readonly tool: string; readonly arguments: unknown };
};

export type ShownDomainReport = {
  readonly host: string;
  readonly ok: boolean;
  readonly findings: readonly ShownDomainFinding[];
  readonly other_hosts?: readonly string[];
};

type ShownDomainFinding = {
  readonly severity: string;
  readonly message: string;
  readonly fix?: string;
};

export type ListedVersion = {
  readonly id: string;
  readonly published_at?: string;
  readonly live?: boolean;
};

export type TemplatePreview = {
  readonly preview_url?: string;
  readonly html?: string;
  readonly problems?: readonly ShownProblem[];
};

export type ShownProblem = {
  readonly field?: string | undefined;
  /** The position of a template's error. Lines and columns start at 1. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly message: string;
};
