import type { Mode } from "../../src/mcp/approval/mode.ts";
import type { Scope } from "../../src/contract/scopes-and-roles.ts";
import type { Reply } from "../support/world.ts";

/** The official clients, each with the newest revision that it speaks. */
export const lines = ["modern", "v1"] as const;
export type Line = (typeof lines)[number];

/** One plain sentence of a person, what it finds, who answers it, and how its end is told. */
export type Task = {
  /** What the person says. */
  readonly sentence: string;
  /** What there is before. */
  readonly start?: (place: Place) => Promise<void>;
  /** What somebody else does before, with an assistant and a key of their own. */
  readonly colleague?: Script;
  /** Earlier in the same conversation: it is not counted, and the assistant has read it. */
  readonly earlier?: Script;
  /** The assistant. What it returns is what it tells the person. */
  readonly script: Script;
  /** Looks at the store, and at what the person was told. */
  readonly check: (end: End) => Promise<void> | void;
  /** No tools could do it in fewer calls, and why that is so. */
  readonly least: number;
  readonly because: string;
  readonly setting?: Setting;
};

/** The embedded service, an owner's key and a form in the client, unless a task says otherwise. */
export type Setting = {
  /** The deployment is another process, which knows of none of our own conditions. */
  readonly isRemote?: boolean;
  /** The built command on an empty folder, by the machine's own clock. */
  readonly isStdio?: boolean;
  readonly mode?: Mode;
  /** What the key may do; left out, everything. */
  readonly scopes?: readonly Scope[];
  readonly isMaster?: boolean;
  /** Where the person says yes: in a form of the client, or on a page in a browser. */
  readonly person?: "form" | "page";
  /** Jobs wait between their rows, until the test lets time pass. */
  readonly isSlow?: boolean;
  /** Tools that the assistant knows of from before, whether they are listed or not. */
  readonly remembers?: readonly string[];
};

/** `before` is what the script of the conversation until then has returned. */
export type Script = (assistant: Assistant, before: Result) => Promise<unknown>;

export type Assistant = {
  /** The tool's result, as the model reads it. Each argument must come from somewhere. */
  readonly call: (tool: string, args?: object) => Promise<Result>;
  /** The text of a resource; counted as a call. */
  readonly read: (uri: string) => Promise<string>;
  /** Shows the person an address, who opens it and says yes there. */
  readonly show: (url: string) => Promise<void>;
};

// Scripts read results as freely as a model would.
// oxlint-disable-next-line typescript/no-explicit-any
export type Result = any;

type Answer = Pick<Reply, "status" | "body">;

/** The deployment of a task, through its API, and what no API can set. */
export type Place = {
  readonly api: (method: string, path: string, body?: object) => Promise<Answer>;
  /** Makes a link as it would be after some time. */
  readonly plant: (link: PlantedLink) => Promise<string>;
  readonly now: () => number;
};

export type PlantedLink = {
  readonly path: string;
  readonly clicks?: number;
  /** How many days ago it was made. */
  readonly age?: number;
  readonly created_via?: "api" | "console";
  readonly [field: string]: unknown;
};

export type End = Place & {
  /** What the script told. */
  readonly told: Result;
  /** What the person was shown before each yes. */
  readonly asked: readonly string[];
  /** A link's fields by its path, as the API has them; undefined where there is none. */
  readonly find: (path: string) => Promise<Result>;
  /** All links' paths, in their order. */
  readonly paths: () => Promise<readonly string[]>;
};
