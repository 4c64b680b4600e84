import { Client as ClientV2, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import * as httpV1 from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { ChildProcess } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import { bundle } from "./command.ts";
import { expect } from "vitest";
import { AjvJsonSchemaValidator as AjvV2 } from "@modelcontextprotocol/client/validators/ajv";
import { AjvJsonSchemaValidator as AjvV1 } from "@modelcontextprotocol/sdk/validation/ajv";

/** Use this for the official clients of both versions. Closing one checks its stdout. */

type TransportOptions = Stdio | Http;

type Stdio = {
  readonly transport: "stdio";
  readonly words?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
} & ({ readonly data: string } | { readonly program: string });

type Http = { readonly transport: "http"; readonly url: string; readonly token?: string };

export type Verdict = {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Record<string, boolean | number>;
};

export type ClientSetup = TransportOptions & {
  /** The person at the client. Without one, the client cannot show forms. */
  readonly elicit?: (message: string) => Verdict | Promise<Verdict>;
  /** The browser that the client can open, in place of a form. */
  readonly open?: (url: string) => Verdict | Promise<Verdict>;
  /** Whether the client listens for changes of the list of tools. */
  readonly watches?: boolean;
};

export type ToolResult = {
  readonly isError: boolean;
  // Tests read results as freely as a client in any language would.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly structured: any;
  readonly text: string;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
};

export type Progress = {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
};

export type ToolClient = {
  readonly listNames: () => Promise<readonly string[]>;
  readonly callTool: (
    name: string,
    args?: Record<string, unknown>,
    onprogress?: (progress: Progress) => void,
  ) => Promise<ToolResult>;
  /** Resolves when the server has reported a changed list of tools this many times in total. */
  readonly untilChanged: (times?: number) => Promise<void>;
  readonly countChanges: () => number;
  readonly close: () => Promise<void>;
  /** The process of the server, or undefined over HTTP. */
  readonly process: StdioChild | undefined;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type StdioChild = {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Its exit code, or null if a signal ended it. */
  readonly ended: Promise<number | null>;
};

export const approve = (): Verdict => ({ action: "accept", content: { approve: true } });

export const self = { name: "waypost-tests", version: "1.0.0" };

export type Elicit = (message: string, address: Address) => Verdict | Promise<Verdict>;

type Address = { readonly url?: string; readonly elicitationId?: string };

export type ClientOptions = {
  readonly elicit?: Elicit | undefined;
  /** The client's capabilities, if they differ from what `elicit` implies. */
  readonly capabilities?: Readonly<Record<string, unknown>> | undefined;
  readonly version?: string;
  readonly onComplete?: (elicitationId: string) => void;
  readonly listChanged?: { readonly tools: Changes["handler"] };
};

function describeClient({ elicit, capabilities, version, listChanged }: ClientOptions) {
  const implied = elicit === undefined ? {} : { elicitation: { form: {} } };
  return {
    info: { ...self, ...(version !== undefined && { version }) },
    options: { capabilities: capabilities ?? implied, ...(listChanged && { listChanged }) },
  };
}

/** The 1.x client, which supports the earlier revisions of the protocol. */
export function createV1(given: ClientOptions = {}): ClientV1 {
  const { info, options } = describeClient(given);
  const { elicit, onComplete } = given;
  const client = new ClientV1(info, { ...options, jsonSchemaValidator: validatorV1 });
  if (elicit !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) =>
      elicit(params.message, params as Address),
    );
  }
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
    onComplete?.(params.elicitationId),
  );
  return client;
}

/** The 2.x client: `modern` is 2026-07-28, `legacy` is earlier, and `auto` detects it. */
export function createV2(
  era: "modern" | "auto" | "legacy" = "modern",
  given: ClientOptions = {},
): ClientV2 {
  const { info, options } = describeClient(given);
  const { elicit, onComplete } = given;
  const client = new ClientV2(info, {
    ...options,
    jsonSchemaValidator: validatorV2,
    versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : era },
  });
  if (elicit !== undefined) {
    client.setRequestHandler("elicitation/create", async ({ params }) =>
      elicit(params.message, params as Address),
    );
  }
  client.setNotificationHandler("notifications/elicitation/complete", ({ params }) =>
    onComplete?.(params.elicitationId),
  );
  return client;
}

function describePerson({ elicit, open, watches }: ClientSetup, changes: Changes): ClientOptions {
  return {
    elicit: open === undefined ? elicit : (_, { url = "" }) => open(url),
    ...(open !== undefined && { capabilities: { elicitation: { url: {} } } }),
    ...(watches === true && { listChanged: { tools: changes.handler } }),
  };
}

export async function connectV1(given: ClientSetup): Promise<ToolClient & { client: ClientV1 }> {
  const changes = countChanges();
  const client = createV1(describePerson(given, changes));
  const transport =
    given.transport === "stdio"
      ? new StdioV1(describeCommand(given))
      : new httpV1.StreamableHTTPClientTransport(new URL(given.url), {
          requestInit: { headers: describeHeaders(given) },
        });
  const readProcess = given.transport === "stdio" ? record(transport) : undefined;
  await client.connect(transport);
  return { client, ...present(client, changes, readProcess?.()) };
}

export async function connectV2(
  given: ClientSetup & { readonly era?: "modern" | "auto" | "legacy" },
): Promise<ToolClient & { client: ClientV2 }> {
  const changes = countChanges();
  const client = createV2(given.era, describePerson(given, changes));
  const transport =
    given.transport === "stdio"
      ? new StdioClientTransport(describeCommand(given))
      : new StreamableHTTPClientTransport(new URL(given.url), {
          requestInit: { headers: describeHeaders(given) },
        });
  const readProcess = given.transport === "stdio" ? record(transport) : undefined;
  await client.connect(transport);
  return { client, ...present(client, changes, readProcess?.()) };
}

/** Returns the lines that are not JSON-RPC, and an incomplete last line. */
export function findStrayLines(stdout: string): readonly string[] {
  return stdout.split("\n").filter((line, index, lines) => {
    return !(line === "" && index === lines.length - 1) && !isJsonRpc(line);
  });
}

function isJsonRpc(line: string): boolean {
  try {
    return JSON.parse(line).jsonrpc === "2.0";
  } catch {
    return false;
  }
}

type Changes = ReturnType<typeof countChanges>;

function countChanges() {
  let seen = 0;
  const onChanged = () => {
    seen += 1;
  };
  return {
    handler: { autoRefresh: false, debounceMs: 0, onChanged },
    count: () => seen,
    until: async (times = 1) => {
      while (seen < times) await setTimeout(10);
    },
  };
}

function present(
  client: ClientV1 | ClientV2,
  changes: Changes,
  process: StdioChild | undefined,
): ToolClient {
  const close = closeCleanly(client, process);
  return {
    listNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    callTool: (name, args, onprogress) =>
      callTool(client, { name, arguments: { ...args } }, onprogress && { onprogress }),
    untilChanged: changes.until,
    countChanges: changes.count,
    process,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Closes the client once, waits for the process, and checks its output. */
export function closeCleanly(
  client: { readonly close: () => Promise<void> },
  process: StdioChild | undefined,
): () => Promise<void> {
  let isOpen = true;
  return async () => {
    if (!isOpen) return;
    isOpen = false;
    await client.close();
    await process?.ended;
    const strays = findStrayLines(process?.stdout() ?? "");
    if (strays.length > 0) throw new Error(`not JSON-RPC on stdout: ${strays.join("\n")}`);
  };
}

/** A person may need more time than the default timeout of any client. */
const patience = { timeout: 20 * 60_000 };

type CallOptions = {
  readonly onprogress?: (progress: Progress) => void;
  readonly signal?: AbortSignal;
};

export async function callTool(
  client: ClientV1 | ClientV2,
  call: { readonly name: string; readonly arguments: Record<string, unknown> },
  given: CallOptions = {},
): Promise<ToolResult> {
  const options = { ...patience, ...given };
  const result =
    client instanceof ClientV1
      ? await client.callTool(call, undefined, options)
      : await client.callTool(call, options);
  return readResult(result);
}

export function readResult(result: object): ToolResult {
  // The clients have different types for the same JSON.
  const {
    isError,
    structuredContent,
    content,
    _meta: meta,
  } = result as {
    readonly _meta?: Readonly<Record<string, unknown>>;
    readonly isError?: boolean;
    readonly structuredContent?: unknown;
    readonly content?: readonly { readonly text?: string }[];
  };
  const text = content?.[0]?.text ?? "";
  return { isError: isError === true, structured: structuredContent, text, meta };
}

/** The command and environment of the process, in the form that all clients take. */
export function describeCommand({ words = [], env = {}, ...given }: Stdio) {
  const start = "data" in given ? [bundle, "stdio", "--data", given.data] : [given.program];
  return {
    command: process.execPath,
    args: [...start, ...words],
    // Tests run in parallel, so the default port may be in use.
    env: { WAYPOST_PORT: "0", ...env },
    stderr: "pipe" as const,
  };
}

export function describeHeaders({ token }: Http): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** Records a process's output from its first byte. The clients keep it in a private member. */
export function record(
  transport: { start: () => Promise<void> },
  member = "_process",
): () => StdioChild {
  const start = transport.start.bind(transport);
  let spoken: StdioChild | undefined;
  transport.start = async () => {
    await start();
    const child = Reflect.get(transport, member) as ChildProcess | undefined;
    if (child === undefined) return;
    spoken = listen(child);
    // The transport's unread copy of stderr would fill up and block stderr.
    child.stderr?.unpipe();
    child.stderr?.resume();
  };
  return () => {
    if (spoken === undefined) throw new Error("no process was started");
    return spoken;
  };
}

export function listen(child: ChildProcess): StdioChild {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString("utf8")));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString("utf8")));
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    ended: new Promise((resolve) => child.once("close", resolve)),
  };
}

export type Args = Readonly<Record<string, unknown>>;

type Client = { readonly callTool: (tool: string, args: Args) => Promise<ToolResult> };

export async function callDone({ callTool }: Client, tool: string, args: Args = {}) {
  const { structured } = await callTool(tool, args);
  expect(structured.error, `${tool} ${JSON.stringify(structured.error)}`).toBeUndefined();
  return structured;
}

export async function callRefused({ callTool }: Client, tool: string, args: Args = {}) {
  const { structured } = await callTool(tool, args);
  expect(structured.error, JSON.stringify(structured)).toBeDefined();
  return structured.error;
}

/** Compiles each schema once. The clients' own validators compile all schemas per client. */

type Provider = { readonly getValidator: (schema: object) => unknown };

function compileOnce<Given extends Provider>(provider: Given): Given {
  const known = new Map<string, unknown>();
  const getValidator = (schema: object): unknown => {
    const text = JSON.stringify(schema);
    const validator = known.get(text) ?? provider.getValidator(schema);
    known.set(text, validator);
    return validator;
  };
  // It has the only method of a validator provider.
  return { getValidator } as unknown as Given;
}

const validatorV1: Provider & AjvV1 = compileOnce(new AjvV1());
const validatorV2: Provider & AjvV2 = compileOnce(new AjvV2());
