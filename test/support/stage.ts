import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { InMemoryTransport, type Client as ClientV2 } from "@modelcontextprotocol/client";
import type { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createBulk } from "../../src/bulk/bulk.ts";
import { createClient, type Sleep } from "../../src/client/client.ts";
import type { Send } from "../../src/client/send-once.ts";
import type { KeyFacts, KnownKey } from "../../src/contract/access.ts";
import type { Clock, SetAlarm } from "../../src/contract/clock.ts";
import type { Scope } from "../../src/contract/rights.ts";
import { createKeyContext, type SaveFile } from "../../src/mcp/access/key-context.ts";
import type { Mode } from "../../src/contract/rights.ts";
import type { ApproveOverwrite } from "../../src/mcp/approval/approve-overwrite.ts";
import { createRequireApproval } from "../../src/mcp/approval/require-approval.ts";
import { createPreviews } from "../../src/mcp/previews/preview-pages.ts";
import { createClientMemory } from "../../src/mcp/protocol/hidden-questions.ts";
import { createServer } from "../../src/mcp/protocol/server.ts";
import { createToolbox, watchVisible } from "../../src/mcp/tools/toolbox.ts";
import type { AccessStorage } from "../../src/mcp/access/remote-access.ts";
import type { History } from "../../src/state/history.ts";
import { openStateFile, type State } from "../../src/state/state.ts";
import { createEmptyFolder } from "./folders.ts";
import { createV1, createV2, type ToolResult } from "./mcp-clients.ts";
import { noPublicFiles, presentClient, type Era } from "./assistant-world.ts";
import type { World } from "./world.ts";
import { readContent } from "../../src/client/remote-sender.ts";
import { setAlarm } from "../../src/app/process/embedded.ts";
import { toSignal } from "../../src/contract/waiting.ts";

/** Use this for an assistant with a scripted remote server, without sockets. */

/** Our MCP server with any remote deployment. It knows nothing about the key by default. */
export type Stage = {
  /** The requests to the deployment: "GET /links?limit=1", followed by the body if there is one. */
  readonly asked: readonly string[];
  readonly listTools: () => Promise<readonly ShownTool[]>;
  readonly listNames: () => Promise<readonly string[]>;
  readonly callTool: (name: string, args?: Record<string, unknown>) => Promise<ToolResult>;
  readonly client: ClientV1 | ClientV2;
  /** How many changes of the list of tools the client would have been notified of. */
  readonly countChanges: () => number;
  readonly settle: () => Promise<void>;
  readonly reported: readonly unknown[];
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type ShownTool = {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
};

type JsonSchema = {
  readonly type: "object";
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
};

export type Handler = (request: Request) => Promise<Response>;

export type Staging = {
  readonly send: Handler;
  readonly key?: string | undefined;
  readonly scopes?: readonly Scope[];
  readonly known?: Partial<KnownKey>;
  /** Looks up the key again. By default this finds nothing new. */
  readonly lookUp?: () => Promise<undefined>;
  readonly mode?: Mode;
  readonly selection?: readonly string[];
  readonly era?: Era;
  readonly setAlarm?: SetAlarm;
  readonly clock?: Clock;
  /** Whether requests are sent to find out what the key may do. */
  readonly probe?: "on" | "off";
  /** How long a list waits for these requests. By default it waits forever. */
  readonly sleep?: Sleep;
  /** What earlier processes have learned about the key. By default nothing. */
  readonly openMemory?: () => Promise<AccessStorage>;
  /** The history to which writes are recorded. By default it is the stage's own. */
  readonly openHistory?: () => Promise<History>;
  /** Saves files, as for a client on this machine. Left out, the client is remote. */
  readonly saveFile?: SaveFile;
};

export const ownerFacts: KeyFacts = {
  kind: "project",
  scopes: [],
  role: "owner",
  plan: "pro",
  suspended: false,
};

const origin = "http://deployment.example";

/** There is no count of overwrites here, so each is treated as one of the first. */
const approveOverwrite: ApproveOverwrite = (_, { carryOut }) => carryOut();
/** No approvals and no plans here. */
const noState = () => Promise.reject<State>(new Error("there is no state here"));

export async function openStage(staging: Staging): Promise<Stage> {
  const { send, mode = "full", selection = [], scopes, era = "modern" } = staging;
  const key = "key" in staging ? staging.key : "a-key";
  const asked: string[] = [];
  const reported: unknown[] = [];
  const real = { now: Date.now, monotonic: () => performance.now() };
  const clock = staging.clock ?? real;
  const known = {
    facts: undefined,
    linkHost: undefined,
    hasSecondHost: false,
    ...staging.known,
  };
  let changes = 0;
  let opening: Promise<State> | undefined;
  const folder = await createEmptyFolder();
  const openTheState = () => {
    opening ??= openStateFile(join(folder.path, "state.db"), {
      clock,
      random: { bytes: (count) => randomBytes(count) },
    });
    return opening;
  };
  const toolbox = createToolbox({ mode, selection });
  const keyContext = createKeyContext({
    client: createClient({
      target: { origin, key },
      send: sendByFetch(async (request) => {
        asked.push(await describeRequest(request));
        return send(request);
      }),
      clock,
      random: { bytes: (count) => randomBytes(count) },
      sleep: () => Promise.resolve(),
      setAlarm: staging.setAlarm ?? setAlarm,
    }),
    bulk: createBulk({
      openState: openTheState,
      clock,
      random: { bytes: (count) => randomBytes(count) },
      sleep: () => Promise.resolve(),
      report: (error) => `reference-${reported.push(error)}`,
    }),
    origin,
    checksConditions: false,
    openHistory: staging.openHistory ?? (async () => (await openTheState()).history),
    openPreviews: async () => createPreviews((await openTheState()).kept),
    publicFiles: noPublicFiles,
    saveFile: staging.saveFile,
    key,
    scopes,
    known,
    isOffered: ({ tool }) => toolbox.find(tool) !== undefined,
    isActAllowed: toolbox.isActAllowed,
    readListening: () => Promise.resolve(undefined),
    lookUp: staging.lookUp ?? (() => Promise.resolve(undefined)),
    probe: staging.probe ?? "on",
    openMemory: staging.openMemory,
    clock,
    sleep: staging.sleep ?? sleepOn,
    report: (error) => reported.push(error),
    onChange: () => visible.onChange(),
    onListed: () => visible.onListed(),
  });
  const visible = watchVisible(toolbox, keyContext, () => {
    changes += 1;
  });
  const requireApproval = createRequireApproval({
    readPin: () => Promise.resolve(undefined),
    mode,
    openState: noState,
    openPage: () => Promise.reject<string>(new Error("there are no pages here")),
  });
  const report = (error: unknown) => `reference-${reported.push(error)}`;
  const [near, far] = InMemoryTransport.createLinkedPair();
  const create = () =>
    createServer({
      toolbox,
      keyContext,
      requireApproval,
      approveOverwrite,
      awaitDecision: () => Promise.reject(new Error("the stage has no approvals")),
      clients: createClientMemory({ clock: real, openState: noState }),
      clock: real,
      version: "0",
      report,
    });
  const handle = serveStdio(create, { transport: near });
  const client = era === "v1" ? createV1() : createV2(era);
  // The transport of the 2.x package also has the interface of the 1.x client.
  await client.connect(far);
  const { callTool } = presentClient(client);
  // The clients have different types for the same JSON.
  const listTools = async () => (await client.listTools()).tools as readonly ShownTool[];
  return {
    asked,
    reported,
    client,
    listTools,
    listNames: async () => (await listTools()).map(({ name }) => name),
    callTool,
    countChanges: () => changes,
    settle: async () => {
      await turn();
      await keyContext.explore();
    },
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await handle.close();
      await (await opening)?.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function sleepOn(_milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("The sleep was cancelled.")), {
      once: true,
    });
  });
}

async function describeRequest(request: Request): Promise<string> {
  const { pathname, search } = new URL(request.url);
  const body = await request.clone().text();
  const path = decodeURIComponent(pathname.replace("/api/v1", "") + search);
  return [request.method, path, ...(body === "" ? [] : [body])].join(" ");
}

export function ringAtOnce(_milliseconds: number, ring: () => void): () => void {
  const timer = setImmediate(ring);
  return () => clearImmediate(timer);
}

export function answering(status: number, body: unknown): Handler {
  return () => Promise.resolve(Response.json(body, { status }));
}

export async function explainAccess(stage: Stage) {
  const { structured } = await stage.callTool("explain_access");
  return readAccess(structured.access);
}

export function readAccess({ kind, asks = [], ...lists }: AccessResult) {
  const { granted = [], denied = [], unknown = [], refused = [] } = lists;
  const whys = new Map(
    refused.flatMap(({ tools, ...why }) => tools.map((tool) => [tool, why] as const)),
  );
  const described = [
    ...granted.map((tool) => ({ tool, state: "granted" })),
    ...denied.flatMap(({ tools, ...why }) => {
      return tools.map((tool) => ({ tool, state: "denied", ...why }));
    }),
    ...unknown.map((tool) => ({ tool, state: "unknown", ...whys.get(tool) })),
  ];
  const names = denied.flatMap(({ tools }) => tools);
  return { kind, tools: described, granted, denied: names, unknown, asks };
}

type AccessResult = {
  readonly kind: string;
  readonly granted?: readonly string[];
  readonly denied?: readonly Group[];
  readonly unknown?: readonly string[];
  readonly refused?: readonly Group[];
  readonly asks?: readonly string[];
};

type Group = {
  readonly tools: readonly string[];
  readonly reason: string;
  readonly since?: string;
};

/** Forwards requests to the world, except those that match the pattern. */
export function override(world: World, pattern: RegExp, answer: Handler): Handler {
  return (request) => {
    const { pathname } = new URL(request.url);
    const isMeant = pattern.test(`${request.method} ${pathname}`);
    return isMeant ? answer(request) : world.fetch(request);
  };
}

/** A deployment that a test writes as a function of the platform's own Request and Response. */
export type Fetch = (request: Request, signal: AbortSignal) => Promise<Response>;

export function sendByFetch(fetch: Fetch): Send {
  return async ({ url, method, headers, body }, signal) => {
    const content = body === undefined ? {} : { body };
    const request = new Request(url, { method, headers, ...content });
    const response = await fetch(request, toSignal(signal));
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      readBody: async () => readContent(await response.text()),
    };
  };
}
