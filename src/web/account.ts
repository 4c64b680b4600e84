import type { JsonObject } from "../contract/json.ts";

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
  /** Calls a tool as an assistant does, by the same rules. */
  readonly call: (tool: string, args: JsonObject) => Promise<Answer>;
  /** As it is kept, letter for letter; undefined where it is not there for this key. */
  readonly readRecord: (kind: RecordKind, id: string) => Promise<JsonObject | undefined>;
  readonly qr: Pictures;
  /** A page that `preview_template` has made, by the end of its address, while it is kept. */
  readonly findPreview: (token: string) => Promise<string | undefined>;
  /** Says yes to a question; answers why that does not count. */
  readonly approve: (questionId: string, pin: string) => Promise<string | undefined>;
  /** What assistants with this key wait for. */
  readonly listWaiting: () => Promise<readonly Waiting[]>;
};

export type RecordKind = "link" | "ios_app" | "android_app" | "project";

/** Of an address; undefined where it is longer than any code. */
type Pictures = {
  readonly drawSvg: (address: string) => Promise<string | undefined>;
  readonly drawPng: (address: string) => Promise<Uint8Array | undefined>;
};

export type Connection = {
  /** What Node is started with; undefined where a client cannot start a process of its own. */
  readonly command: readonly string[] | undefined;
  /** Undefined where this process speaks no MCP over HTTP. */
  readonly mcp: string | undefined;
  /** What callers over HTTP show, in words. */
  readonly secret: string;
};

export type Answer =
  | { readonly kind: "done"; readonly result: JsonObject }
  | { readonly kind: "failed"; readonly failure: Failure }
  | { readonly kind: "asks"; readonly question: Question };

export type Failure = {
  readonly code: string;
  readonly message: string;
  readonly problems?: readonly FieldProblem[] | undefined;
};

export type FieldProblem = {
  readonly field?: string | undefined;
  /** Where it stands in a long text; both count from 1. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly message: string;
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
  /** How many wrong PINs it may still get; undefined where none is asked for. */
  readonly pinTries: number | undefined;
  /** Why nobody can say yes to it. */
  readonly blocked: string | undefined;
};

export type Waiting = {
  readonly address: string;
  readonly title: string;
  readonly client: string | undefined;
};
