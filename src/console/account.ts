import type { DeletedItem } from "../admin/bin.ts";
import type { ClientKey, IssuedClientKey, IssuedKey, ListedKey } from "../admin/keys.ts";
import type { TypedSettings } from "../admin/projects.ts";
import type { DeadEvent, ListedWebhook, NewWebhook, WebhookTest } from "../admin/webhooks.ts";
import type { JsonObject } from "../contract/json.ts";
import type { TimeZone } from "../contract/local-time.ts";
import type { Role, Scope } from "../contract/rights.ts";
import type {
  ShownProblem,
  JobRow,
  RecordKind,
  Records,
  ToolResults,
  ChangedRecord,
} from "./records.ts";

/** What a signed-in user can see and do. */
export type Account = {
  readonly projectName: string | undefined;
  /** The link host, or the remote server's URL if the link host is unknown. */
  readonly host: string | undefined;
  readonly facts: readonly (readonly [name: string, text: string])[];
  readonly connection: Connection;
  /** Whether the key, the settings and the mode allow a tool or an administrative action. */
  readonly mayUse: (tool: string) => boolean;
  /**
   * Calls a tool that needs no approval, with the same checks as for assistants. `more` holds
   * arguments that assistants cannot pass.
   */
  readonly call: <Name extends ToolName>(
    tool: Name,
    args: JsonObject,
    more?: JsonObject,
  ) => ToolAnswer<Name>;
  /** Like `call`, but returns undefined if the call fails or the key may not use the tool. */
  readonly tryCall: <Name extends ToolName>(
    tool: Name,
    args: JsonObject,
  ) => Promise<ToolResults[Name] | undefined>;
  /** Calls a tool that changes data and may need approval. */
  readonly act: (tool: string, args: JsonObject) => Promise<ChangeResult<ChangedRecord>>;
  readonly timeZone: TimeZone;
  /** Today's date in the time zone of the statistics. */
  readonly readToday: () => string;
  /** Whether this process stores the links. Otherwise, a remote server does. */
  readonly isOwn: boolean;
  /** Returns undefined if the record does not exist or the key may not read it. */
  readonly readRecord: <Kind extends RecordKind>(
    kind: Kind,
    id: string,
  ) => Promise<CallResult<Records[Kind]> | undefined>;
  /** Both functions return undefined if the URL is too long for a QR code. */
  readonly qr: {
    readonly drawSvg: (address: string) => Promise<string | undefined>;
    readonly drawPng: (address: string) => Promise<Uint8Array | undefined>;
  };
  /** Finds a page that `preview_template` rendered, by the token in its URL. */
  readonly findPreview: (token: string) => Promise<string | undefined>;
  readonly approve: (
    questionId: string,
    typed: TypedApproval,
  ) => Promise<ApprovalRejection | undefined>;
  readonly planFile: (file: LinksFile) => ToolAnswer<"plan_links">;
  readonly readPlan: (id: string, part: PlanPosition) => Promise<ShownPlan | undefined>;
  /** Returns undefined if no job with this ID was created with the user's key. */
  readonly listRows: (jobId: string, wanted: RowFilter) => Promise<readonly JobRow[] | undefined>;
  readonly listWaiting: () => Promise<readonly ListedQuestion[]>;
  readonly admin: Administration;
};

type ToolName = keyof ToolResults;
type ToolAnswer<Name extends ToolName> = Promise<CallResult<ToolResults[Name]>>;

/** Administrative actions that the API does not offer. `mayUse` checks permission for each. */
export type Administration = {
  readonly listKeys: () => Promise<ChangeResult<KeyList>>;
  /** `once` identifies the form, so that submitting the form twice creates only one key. */
  readonly createKey: (
    request: SingleUseForm & { readonly role: Role; readonly scopes: readonly Scope[] },
  ) => Promise<ChangeResult<IssuedKey>>;
  readonly createClientKey: (once: string) => Promise<ChangeResult<IssuedClientKey>>;
  /** `isOwn` is true if the user signed in with the revoked key. */
  readonly revokeKey: (id: string) => Promise<ChangeResult<{ readonly isOwn: boolean }>>;
  readonly revokeClientKey: (id: string) => Promise<ChangeResult<void>>;
  /** `delivers`: whether this process delivers webhook events. */
  readonly listWebhooks: () => Promise<
    ChangeResult<{ readonly delivers: boolean; readonly webhooks: readonly ListedWebhook[] }>
  >;
  /** `dead`: the latest events that are no longer retried. */
  readonly showWebhook: (
    id: string,
  ) => Promise<
    ChangeResult<{ readonly webhook: ListedWebhook; readonly dead: readonly DeadEvent[] }>
  >;
  readonly createWebhook: (
    request: SingleUseForm & { readonly url: string; readonly events: readonly string[] },
  ) => Promise<ChangeResult<NewWebhook>>;
  readonly revokeWebhook: (id: string) => Promise<ChangeResult<void>>;
  readonly testWebhook: (id: string) => Promise<ChangeResult<WebhookTest>>;
  /** Resends a failed event, or all failed events of the webhook if `eventId` is empty. */
  readonly resendEvents: (id: string, eventId: string) => Promise<ChangeResult<number>>;
  readonly readProjectSettings: (id: string) => Promise<ChangeResult>;
  readonly updateProjectSettings: (id: string, typed: TypedSettings) => Promise<ChangeResult<void>>;
  readonly listDeleted: (search: {
    readonly page: number;
    readonly search: string;
    readonly kind: string | undefined;
  }) => Promise<ChangeResult<DeletedPage>>;
  /** Each item has the form `kind:id`. */
  readonly restoreDeleted: (items: readonly string[]) => Promise<ChangeResult<RestoredItems>>;
  readonly readSettings: () => Promise<ChangeResult<ServerSettings>>;
};

type SingleUseForm = { readonly once: string };

export type KeyList = {
  readonly keys: readonly ListedKey[];
  readonly client_keys: readonly ClientKey[];
};

export type DeletedPage = {
  readonly items: readonly (DeletedItem & { readonly canRestore: boolean })[];
  readonly meta: { readonly page: number; readonly last: number };
};

export type RestoredItems = {
  readonly restored: number;
  readonly failed: readonly { readonly name: string; readonly message: string }[];
};

export type ServerSettings = {
  readonly now: readonly (readonly [name: string, value: string])[];
  readonly findings: readonly {
    readonly about: string;
    readonly fault?: string;
    readonly warning?: string;
    readonly info?: string;
  }[];
  readonly groups: readonly { readonly name: string; readonly rows: readonly ShownSetting[] }[];
};

export type ShownSetting = {
  readonly name: string;
  readonly value: string;
  readonly from: "flag" | "environment" | "default";
  readonly variable: string;
  readonly flag?: string;
};

/** How to connect an MCP client to the links that the console shows. */
export type Connection = {
  /**
   * Arguments for `node` that start a stdio server. Undefined if that server would use another key.
   */
  readonly command: readonly string[] | undefined;
  /** The URL for MCP clients; undefined if this process does not serve MCP over HTTP. */
  readonly mcp: string | undefined;
  /** What the console calls the bearer token for MCP clients, such as "your key". */
  readonly secret: string;
};

export type CallResult<Result = JsonObject> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "failed"; readonly failure: CallError };

export type ChangeResult<Result = JsonObject> =
  CallResult<Result> | { readonly kind: "asks"; readonly question: ConsoleQuestion };

export type CallError = {
  readonly code: string;
  readonly message: string;
  readonly problems?: readonly ShownProblem[] | undefined;
};

/** A change that needs the user's approval, with HTML for the approval page. */
export type ConsoleQuestion = {
  readonly id: string;
  readonly title: string;
  readonly button: string;
  readonly destroys: boolean;
  readonly facts: string;
  /** HTML of the link's page before and after the change; may be empty. */
  readonly frames: string;
  /** HTML of one page of the plan's rows; may be empty. */
  readonly rows: string;
  /** The number of links. The user must type it to confirm. Undefined for small changes. */
  readonly count: number | undefined;
  /** Undefined if no PIN is needed. `left`: how many attempts remain after a wrong PIN. */
  readonly pin: { readonly left: number | undefined } | undefined;
  readonly blocked: string | undefined;
};

/** Why the user's approval failed: the request has expired, or the PIN or count is wrong. */
export type ApprovalRejection =
  { readonly kind: "over" } | { readonly kind: "fault"; readonly text: string };

export type TypedApproval = { readonly pin: string; readonly count: string };

/** An assistant's pending approval, as listed on the start page. */
export type ListedQuestion = {
  readonly address: string;
  readonly title: string;
  /** A sentence with the assistant's name, as the assistant itself reports it. */
  readonly lead: string;
  /** The request's project, API key and age. */
  readonly origin: string;
  readonly term: string;
};

export type LinksFile = {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly operation: string;
  readonly skipsInvalid: boolean;
};

export type PlanPosition = {
  readonly page: number;
  /** If set, shows only this row, in full. */
  readonly row: number | undefined;
  readonly conflicts: number;
};

export type ShownPlan = {
  readonly counts: Readonly<Record<string, number>>;
  /** Undefined if nothing is left to apply. */
  readonly question: ConsoleQuestion | undefined;
  readonly isFaulty: boolean;
  readonly isOver: boolean;
  readonly jobId: string | undefined;
  readonly undoes: string | undefined;
  readonly problems: readonly PlanFault[];
  readonly moreFaults: number;
  /** The first rows that are skipped because their link already exists. */
  readonly conflicts: readonly PlanFault[];
  readonly format: string | undefined;
  readonly unmapped: readonly {
    readonly field: string;
    readonly count: number;
    readonly example: string;
  }[];
  readonly warnings: readonly string[];
};

export type PlanFault = ShownProblem & {
  readonly row?: number | undefined;
  readonly link?: string | undefined;
};

export type RowFilter = {
  readonly offset: number;
  readonly limit: number;
  readonly only?: "failed";
};
