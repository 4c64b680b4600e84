import type { DeletedItem } from "../admin/bin.ts";
import type { ClientKey, IssuedClientKey, IssuedKey, ListedKey } from "../admin/keys.ts";
import type { TypedSettings } from "../admin/projects.ts";
import type { DeadEvent, ListedWebhook, NewWebhook, WebhookTest } from "../admin/webhooks.ts";
import type { JsonObject } from "../contract/json.ts";
import type { TimeZone } from "../contract/local-time.ts";
import type { Role, Scope } from "../contract/scopes-and-roles.ts";
import type { FieldProblem, JobRow, RecordKind, Records, ToolResults, Written } from "./records.ts";

/** What composition hands in: whoever is signed in, and what they can have done. */
export type Account = {
  /** Of the project, as far as it is known. */
  readonly projectName: string | undefined;
  /** Where its links live, or else the deployment. */
  readonly host: string | undefined;
  /** What else there is to know of the key and of the service: names, and what stands there. */
  readonly facts: readonly (readonly [name: string, text: string])[];
  /** How an assistant is connected to the same links. */
  readonly connection: Connection;
  /** Whether the key, the operator and the mode allow a tool, as far as is known. */
  readonly mayUse: (tool: string) => boolean;
  /** Calls a tool that asks no person, by the same rules as for an assistant. */
  readonly call: <Name extends keyof ToolResults>(
    tool: Name,
    args: JsonObject,
  ) => Promise<Found<ToolResults[Name]>>;
  /** The same; undefined if it fails, or if the key may not use the tool. */
  readonly tryCall: <Name extends keyof ToolResults>(
    tool: Name,
    args: JsonObject,
  ) => Promise<ToolResults[Name] | undefined>;
  /** Calls a tool that changes something, perhaps after a person's approval. */
  readonly act: (tool: string, args: JsonObject) => Promise<Answer<Written>>;
  /** `list_links`, which counts no more links than these. */
  readonly listLinks: (
    args: JsonObject,
    mostCounted: number,
  ) => Promise<Found<ToolResults["list_links"]>>;
  /** The changes of 30 days, newest first, as in `list_changes`. */
  readonly listChanges: (wanted: WantedChanges) => Promise<Found<ToolResults["list_changes"]>>;
  /** The zone in which times are shown. */
  readonly timeZone: TimeZone;
  /** The date on the clocks of whoever asks, as statistics tell it. */
  readonly readToday: () => string;
  /** Whether this process keeps the links itself, with a bin; else a deployment elsewhere does. */
  readonly isOwn: boolean;
  /** Undefined if it does not exist for this key. */
  readonly readRecord: <Kind extends RecordKind>(
    kind: Kind,
    id: string,
  ) => Promise<Found<Records[Kind]> | undefined>;
  readonly qr: Pictures;
  /** `preview_template` of a link as it would be with these fields; only where `isOwn`. */
  readonly previewDraft: (
    args: JsonObject,
    fields: JsonObject,
  ) => Promise<Found<ToolResults["preview_template"]>>;
  /** A page that `preview_template` has made, by the end of its address, while it is kept. */
  readonly findPreview: (token: string) => Promise<string | undefined>;
  /** Says yes to a question; answers why that does not count. */
  readonly approve: (questionId: string, typed: Typed) => Promise<NoYes | undefined>;
  /** Plans what a file of links says. */
  readonly planFile: (file: LinksFile) => Promise<Found<ToolResults["plan_links"]>>;
  /** A plan of this key with one page of its rows, as a person reads it before it is applied. */
  readonly readPlan: (id: string, part: ShownPart) => Promise<ShownPlan | undefined>;
  /** What became of a job's rows; undefined where the key has no such job. */
  readonly listRows: (jobId: string, wanted: WantedRows) => Promise<readonly JobRow[] | undefined>;
  /** What assistants with this key wait for. */
  readonly listWaiting: () => Promise<readonly Waiting[]>;
  /** One of those with a page of a plan's rows, also after its end; undefined for another key's. */
  readonly readAsked: (id: string, part: ShownPart) => Promise<AskedByAssistant | undefined>;
  /** Answers one of those; why a yes does not count. What was answered before stays so. */
  readonly decide: (id: string, decision: Decision, typed: Typed) => Promise<string | undefined>;
  readonly admin: Administration;
};

/** Administration that the API does not offer. `mayUse` says which of it the key may do. */
export type Administration = {
  readonly listKeys: () => Promise<Answer<KeyList>>;
  readonly createKey: (request: NewKey) => Promise<Answer<IssuedKey>>;
  readonly createClientKey: (once: string) => Promise<Answer<IssuedClientKey>>;
  /** Whether the person was signed in with it. */
  readonly revokeKey: (id: string) => Promise<Answer<{ readonly isOwn: boolean }>>;
  readonly revokeClientKey: (id: string) => Promise<Answer<void>>;
  readonly listWebhooks: () => Promise<Answer<WebhookList>>;
  readonly showWebhook: (id: string) => Promise<Answer<WebhookDetails>>;
  readonly createWebhook: (request: WebhookForm) => Promise<Answer<NewWebhook>>;
  readonly revokeWebhook: (id: string) => Promise<Answer<void>>;
  readonly testWebhook: (id: string) => Promise<Answer<WebhookTest>>;
  /** All failed events of a webhook, or one of them. */
  readonly resendEvents: (id: string, eventId: string) => Promise<Answer<number>>;
  readonly readProjectSettings: (id: string) => Promise<Answer>;
  readonly updateProjectSettings: (id: string, typed: TypedSettings) => Promise<Answer<void>>;
  readonly listDeleted: (search: DeletedSearch) => Promise<Answer<DeletedPage>>;
  /** Each item as `kind:id`. */
  readonly restoreDeleted: (items: readonly string[]) => Promise<Answer<RestoredItems>>;
  readonly readSettings: () => Promise<Answer<ServerSettings>>;
};

export type KeyList = {
  readonly keys: readonly ListedKey[];
  readonly client_keys: readonly ClientKey[];
};

type NewKey = {
  readonly role: Role;
  readonly scopes: readonly Scope[];
  /** The form's own text: it creates one key, however often it is sent. */
  readonly once: string;
};

type WebhookList = {
  /** Whether this process sends events. */
  readonly delivers: boolean;
  readonly webhooks: readonly ListedWebhook[];
};

type WebhookDetails = {
  readonly webhook: ListedWebhook;
  /** The latest events that Waypost stopped retrying. */
  readonly dead: readonly DeadEvent[];
};

type WebhookForm = {
  readonly url: string;
  readonly events: readonly string[];
  /** As for a key. */
  readonly once: string;
};

type DeletedSearch = {
  readonly page: number;
  readonly search: string;
  readonly kind: string | undefined;
};

export type DeletedPage = {
  readonly items: readonly (DeletedItem & { readonly canRestore: boolean })[];
  readonly meta: ListMeta;
};

export type RestoredItems = {
  readonly restored: number;
  readonly failed: readonly { readonly name: string; readonly message: string }[];
};

type ListMeta = { readonly page: number; readonly last: number };

export type ServerSettings = {
  /** What runs now. */
  readonly now: readonly (readonly [name: string, value: string])[];
  readonly findings: readonly ServerFinding[];
  readonly groups: readonly { readonly name: string; readonly rows: readonly ShownSetting[] }[];
};

type ServerFinding = {
  readonly about: string;
  readonly fault?: string;
  readonly warning?: string;
  readonly said?: string;
};

export type ShownSetting = {
  readonly name: string;
  readonly value: string;
  readonly from: "flag" | "environment" | "default";
  readonly variable: string;
  readonly flag?: string;
};

export type Decision = "approved" | "declined";

/** Who asks, in words. */
type Asker = {
  /** By the name that the client has given itself, in quotes. */
  readonly lead: string;
  /** Where the links are, by which key it asks, and how long ago. */
  readonly origin: string;
  /** For how long it waits. */
  readonly term: string;
};

export type AskedByAssistant = Asker & {
  readonly question: Question;
  /** How it was answered; undefined while it waits. */
  readonly end: Decision | undefined;
};

type WantedChanges = {
  /** An id, or a name that the target had at the time. */
  readonly target?: string;
  readonly kind?: string;
  readonly page: number;
};

/** Of an address; undefined where it is longer than any code. */
type Pictures = {
  readonly drawSvg: (address: string) => Promise<string | undefined>;
  readonly drawPng: (address: string) => Promise<Uint8Array | undefined>;
};

export type Connection = {
  /** What Node is started with; undefined where that would not have the key that is signed in. */
  readonly command: readonly string[] | undefined;
  /** Undefined where this process speaks no MCP over HTTP. */
  readonly mcp: string | undefined;
  /** What callers over HTTP show, in words. */
  readonly secret: string;
};

/** The result of a call that asks no person. */
export type Found<Result = JsonObject> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "failed"; readonly failure: Failure };

export type Answer<Result = JsonObject> =
  Found<Result> | { readonly kind: "asks"; readonly question: Question };

export type Failure = {
  readonly code: string;
  readonly message: string;
  readonly problems?: readonly FieldProblem[] | undefined;
};

/** An act that needs a person's yes, as the approval page shows it. */
export type Question = {
  readonly id: string;
  readonly title: string;
  readonly button: string;
  readonly destroys: boolean;
  /** Markup of ours, the same as on the approval page. */
  readonly facts: string;
  /** The same, of how pages look; empty where it is about none. */
  readonly frames: string;
  /** Markup of ours: one page of a plan's rows; empty where it is about no plan. */
  readonly rows: string;
  /** The number of links, which is to be typed; undefined where they are few. */
  readonly count: number | undefined;
  /** Undefined where none is asked for. */
  readonly pin: AskedPin | undefined;
  /** Why nobody can say yes to it. */
  readonly blocked: string | undefined;
};

/** Why a yes does not count: what it was said to is over, or something else is wrong with it. */
export type NoYes = { readonly kind: "over" } | { readonly kind: "fault"; readonly text: string };

/** How many wrong PINs a question may still get, where it was asked before. */
type AskedPin = { readonly left: number | undefined };

/** What is typed beside a yes. */
export type Typed = { readonly pin: string; readonly count: string };

export type LinksFile = {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly operation: string;
  /** Whether faulty rows are left out. */
  readonly skipsInvalid: boolean;
};

/** Which of a plan's rows are shown. */
export type ShownPart = {
  readonly page: number;
  /** The one at this position alone, whole. */
  readonly row: number | undefined;
  /** Which page of those that are left out. */
  readonly conflicts: number;
};

export type ShownPlan = {
  /** How many rows do what, by the names of the actions. */
  readonly counts: Readonly<Record<string, number>>;
  /** What is left of it to do, as it is asked; undefined where nothing of it can be done. */
  readonly question: Question | undefined;
  /** Whether it has faults, so that none of it can be applied. */
  readonly isFaulty: boolean;
  /** Whether its hour is over. */
  readonly isOver: boolean;
  /** Of the job that applies it, or has. */
  readonly jobId: string | undefined;
  /** The job that it would undo. */
  readonly undoes: string | undefined;
  readonly problems: readonly PlanFault[];
  /** How many faulty rows there are beside those. */
  readonly moreFaults: number;
  /** The first rows that are left out because of what is there already. */
  readonly conflicts: readonly PlanFault[];
  /** Whose export the rows come from, where they are another service's. */
  readonly format: string | undefined;
  /** What of the rows was not taken over. */
  readonly unmapped: readonly Unmapped[];
  readonly warnings: readonly string[];
};

export type PlanFault = FieldProblem & {
  /** Where it stands in the file. */
  readonly row?: number | undefined;
  readonly link?: string | undefined;
};

type Unmapped = { readonly field: string; readonly count: number; readonly example: string };

export type WantedRows = {
  readonly offset: number;
  readonly limit: number;
  /** Those alone that did not end well. */
  readonly only?: "failed";
};

export type Waiting = Asker & { readonly id: string; readonly title: string };
