import type { Mode } from "../../src/contract/rights.ts";
import type { Scope } from "../../src/contract/rights.ts";
import type { Reply } from "../support/world.ts";

/** The official clients, each with the newest MCP revision it supports. */
export const lines = ["modern", "v1"] as const;
export type Line = (typeof lines)[number];

export type Task = {
  readonly sentence: string;
  readonly start?: (place: Place) => Promise<void>;
  /** Earlier calls of another user with a different assistant and key. */
  readonly colleague?: Script;
  /** Earlier calls of the same conversation. They are known but not counted. */
  readonly earlier?: Script;
  /** The assistant's calls. Its result is the reply to the user. */
  readonly script: Script;
  readonly check: (end: End) => Promise<void> | void;
  readonly least: number;
  readonly because: string;
  readonly setting?: Setting;
  readonly onSpecified?: Difference;
  /** On a server that also alters records. By default the same as on a specified server. */
  readonly onAltering?: Difference;
};

/** What by design differs on a remote server with only what the API specification names. */
export type Difference = {
  /** The calls in addition to `least`. */
  readonly more?: number;
  readonly check?: Task["check"];
  readonly because: string;
};

/** By default the embedded service, an owner's key and a form in the client. */
export type Setting = {
  /** The server is another process, without Waypost's own conditional requests. */
  readonly isRemote?: boolean;
  /** The built command on an empty folder, with the machine's clock. */
  readonly isStdio?: boolean;
  readonly mode?: Mode;
  /** The scopes of the key. By default all of them. */
  readonly scopes?: readonly Scope[];
  readonly isMaster?: boolean;
  /** Where the user approves: in a form of the client or on a page in a browser. */
  readonly person?: "form" | "page";
  /** Jobs wait between rows until the test lets time pass. */
  readonly isSlow?: boolean;
  /** Tools that the assistant already knows, even if they are not listed. */
  readonly remembers?: readonly string[];
};

/** `before` is the result of the earlier script of the conversation. */
type Script = (assistant: Assistant, before: Result) => Promise<unknown>;

export type Assistant = {
  /** Calls a tool that the client has listed, and returns its result. */
  readonly call: (tool: string, args?: object) => Promise<Result>;
  /** Reads the text of a resource, which counts as a call. */
  readonly read: (uri: string) => Promise<string>;
  /** Shows the user an address. The user opens it and approves there. */
  readonly show: (url: string) => Promise<void>;
};

// Results have no fixed type, as for a model.
// oxlint-disable-next-line typescript/no-explicit-any
export type Result = any;

type Answer = Pick<Reply, "status" | "body">;

/** The server of a task: its API, and settings that the API does not have. */
export type Place = {
  readonly api: (method: string, path: string, body?: object) => Promise<Answer>;
  /** Creates a link of a given age and number of clicks. */
  readonly plant: (link: PlantedLink) => Promise<string>;
};

export type PlantedLink = {
  readonly path: string;
  readonly clicks?: number;
  readonly age?: number;
  readonly created_via?: "api" | "console";
  readonly [field: string]: unknown;
};

export type End = Place & {
  readonly told: Result;
  readonly asked: readonly string[];
  readonly find: (path: string) => Promise<Result>;
  readonly paths: () => Promise<readonly string[]>;
};

const mostCharacters = 76;

export function shorten(sentence: string): string {
  const line = sentence.replaceAll("\n", " ⏎ ");
  return line.length > mostCharacters ? `${line.slice(0, mostCharacters)}…` : line;
}
