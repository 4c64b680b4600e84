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

/** What a signed-in person can see and do. The composition provides it. */
export type Account = {
  readonly projectName: string | undefined;
  /** The link host, or else the remote server. */
  readonly host: string | undefined;
  readonly facts: readonly (readonly [name: string, text: string])[];
  readonly connection: Connection;
  /** Whether the key, the operator and the mode allow a tool, as far as is known. */
  readonly mayUse: (tool: string) => boolean;
  /**
   * Calls a tool that asks no person, by the same rules as for an assistant. `more` are arguments
   * that the tool takes and offers to no assistant.
   */
  readonly call: <Name extends ToolName>(
    tool: Name,
    args: JsonObject,
    more?: JsonObject,
  ) => ToolAnswer<Name>;
  /** The same; undefined if it fails, or if the key may not use the tool. */
  readonly tryCall: <Name extends ToolName>(
    tool: Name,
    args: JsonObject,
  ) => Promise<ToolResults[Name] | undefined>;
  /** Calls a tool that changes something, perhaps after a person's approval. */
  readonly act: (tool: string, args: JsonObject) => Promise<ChangeResult<ChangedRecord>>;
  readonly timeZone: TimeZone;
  /** Today's date in the time zone of statistics. */
  readonly readToday: () => string;
  /** Whether this process has the links and a bin, and not a remote server. */
  readonly isOwn: boolean;
  /** Undefined if it does not exist for this key. */
  readonly readRecord: <Kind extends RecordKind>(
    kind: Kind,
    id: string,
  ) => Promise<CallResult<Records[Kind]> | undefined>;
  /** Undefined for an address that is too long for a QR code. */
  readonly qr: {
    readonly drawSvg: (address: string) => Promise<string | undefined>;
    readonly drawPng: (address: string) => Promise<Uint8Array | undefined>;
  };
  /** A page that `preview_template` has made, by the end of its address, while it is kept. */
  readonly findPreview: (token: string) => Promise<string | undefined>;
  /** Approves a question; returns why the approval does not count. */
  readonly approve: (
    questionId: string,
    typed: TypedApproval,
  ) => Promise<ApprovalRejection | undefined>;
  readonly planFile: (file: LinksFile) => ToolAnswer<"plan_links">;
  readonly readPlan: (id: string, part: PlanPosition) => Promise<ShownPlan | undefined>;
  /** Undefined if the key has no such job. */
  readonly listRows: (jobId: string, wanted: WantedRows) => Promise<readonly JobRow[] | undefined>;
  readonly listWaiting: () => Promise<readonly ListedQuestion[]>;
  readonly admin: Administration;
};

type ToolName = keyof ToolResults;
type ToolAnswer<Name extends ToolName> = Promise<CallResult<ToolResults[Name]>>;

/** Administration that the API does not offer. `mayUse` says which of it the key may do. */
export type Administration = {
  readonly listKeys: () => Promise<ChangeResult<KeyList>>;
  /** `once` is unique to the form: however often it is sent, it creates one key. */
  readonly createKey: (
    request: Once & { readonly role: Role; readonly scopes: readonly Scope[] },
  ) => Promise<ChangeResult<IssuedKey>>;
  readonly createClientKey: (once: string) => Promise<ChangeResult<IssuedClientKey>>;
  /** Whether the person was signed in with it. */
  readonly revokeKey: (id: string) => Promise<ChangeResult<{ readonly isOwn: boolean }>>;
  readonly revokeClientKey: (id: string) => Promise<ChangeResult<void>>;
  /** And whether this process sends events. */
  readonly listWebhooks: () => Promise<
    ChangeResult<{ readonly delivers: boolean; readonly webhooks: readonly ListedWebhook[] }>
  >;
  /** And the latest events that Waypost stopped retrying. */
  readonly showWebhook: (
    id: string,
  ) => Promise<
    ChangeResult<{ readonly webhook: ListedWebhook; readonly dead: readonly DeadEvent[] }>
  >;
  readonly createWebhook: (
    request: Once & { readonly url: string; readonly events: readonly string[] },
  ) => Promise<ChangeResult<NewWebhook>>;
  readonly revokeWebhook: (id: string) => Promise<ChangeResult<void>>;
  readonly testWebhook: (id: string) => Promise<ChangeResult<WebhookTest>>;
  /** All failed events of a webhook, or one of them. */
  readonly resendEvents: (id: string, eventId: string) => Promise<ChangeResult<number>>;
  readonly readProjectSettings: (id: string) => Promise<ChangeResult>;
  readonly updateProjectSettings: (id: string, typed: TypedSettings) => Promise<ChangeResult<void>>;
  readonly listDeleted: (search: {
    readonly page: number;
    readonly search: string;
    readonly kind: string | undefined;
  }) => Promise<ChangeResult<DeletedPage>>;
  /** Each item as `kind:id`. */
  readonly restoreDeleted: (items: readonly string[]) => Promise<ChangeResult<RestoredItems>>;
  readonly readSettings: () => Promise<ChangeResult<ServerSettings>>;
};

type Once = { readonly once: string };

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
    readonly said?: string;
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

/** How an assistant is connected to the same links. */
export type Connection = {
  /** The arguments of Node; undefined if such a process would use another key. */
  readonly command: readonly string[] | undefined;
  /** Undefined if this process has no MCP over HTTP. */
  readonly mcp: string | undefined;
  /** What callers over HTTP need, in words. */
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

/** A change that needs a person's approval. The markup is the approval page's. */
export type ConsoleQuestion = {
  readonly id: string;
  readonly title: string;
  readonly button: string;
  readonly destroys: boolean;
  readonly facts: string;
  /** Markup: how pages of links look before and after; may be empty. */
  readonly frames: string;
  /** Markup: one page of a plan's rows; may be empty. */
  readonly rows: string;
  /** The number of links to be typed; undefined if they are few. */
  readonly count: number | undefined;
  /** How many wrong PINs are left, where it was asked before; undefined if no PIN is needed. */
  readonly pin: { readonly left: number | undefined } | undefined;
  readonly blocked: string | undefined;
};

/** Why an approval does not count: its question has expired, or something else is wrong. */
export type ApprovalRejection =
  { readonly kind: "over" } | { readonly kind: "fault"; readonly text: string };

export type TypedApproval = { readonly pin: string; readonly count: string };

/** What an assistant asks, in words. */
export type ListedQuestion = {
  /** Its approval page. */
  readonly address: string;
  readonly title: string;
  /** The assistant, by its own name in quotes. */
  readonly lead: string;
  /** The place of the links, the key, and the time. */
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
  /** The position of the only row that is shown, with all of its text. */
  readonly row: number | undefined;
  readonly conflicts: number;
};

export type ShownPlan = {
  /** The number of rows by their actions. */
  readonly counts: Readonly<Record<string, number>>;
  /** Undefined if nothing is left to apply. */
  readonly question: ConsoleQuestion | undefined;
  readonly isFaulty: boolean;
  readonly isOver: boolean;
  readonly jobId: string | undefined;
  readonly undoes: string | undefined;
  readonly problems: readonly PlanFault[];
  readonly moreFaults: number;
  /** The first rows that are left out because of existing links. */
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

export type WantedRows = {
  readonly offset: number;
  readonly limit: number;
  readonly only?: "failed";
};
