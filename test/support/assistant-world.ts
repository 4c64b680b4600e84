import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { InMemoryTransport, type Client as ClientV2 } from "@modelcontextprotocol/client";
import type { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { expect } from "vitest";
import { createBulk, type Bulk } from "../../src/bulk/bulk.ts";
import { setAlarm as setRealAlarm } from "../../src/app/process/embedded.ts";
import { createClient } from "../../src/client/client.ts";
import { type Send, sendEmbedded } from "../../src/client/send-once.ts";
import { checkPin, openPin } from "../../src/app/data/pin-file.ts";
import { createApproveOverwrite } from "../../src/mcp/approval/approve-overwrite.ts";
import { createKeyContext, type KeyContextOptions } from "../../src/mcp/access/key-context.ts";
import { createAwaitDecision } from "../../src/mcp/approval/await-decision.ts";
import type { Mode } from "../../src/contract/rights.ts";
import {
  approvalPath,
  createApprovalPages,
  type PageOptions,
} from "../../src/mcp/approval/approval-page.ts";
import { createRequireApproval } from "../../src/mcp/approval/require-approval.ts";
import {
  createPreviews,
  createPreviewPages,
  previewPath,
} from "../../src/mcp/previews/preview-pages.ts";
import { createClientMemory } from "../../src/mcp/protocol/hidden-questions.ts";
import { createServer } from "../../src/mcp/protocol/server.ts";
import { createToolbox } from "../../src/mcp/tools/toolbox.ts";
import { createService } from "./api-description.ts";
import type { State } from "../../src/state/state.ts";
import {
  callTool,
  createV1,
  createV2,
  type ClientOptions,
  type Progress,
  type ToolResult,
} from "./mcp-clients.ts";
import { speakRaw, type RawCall, type RawResult } from "./mcp-http.ts";
import { createTestClock, type TestClock } from "./clock.ts";
import { createWorld, readLinkOrigin, readListening, type World } from "./world.ts";
import type { PublicFiles } from "../../src/network/hosts/fetch-file.ts";
import type { ApiRequest } from "../../src/contract/api-message.ts";

/** Use this for what an assistant sees of a local service, without processes and sockets. */

/** Official clients with our MCP server, a real service and a state file, on a test's clock. */
export type AssistantWorld = CarrierWatch &
  AssistantClient & {
    readonly world: World;
    readonly state: State;
    readonly bulk: Bulk;
    readonly reported: readonly unknown[];
    /** Why answers to approval pages were refused. */
    readonly refused: readonly string[];
    /** Connects another client, with another key, person or era if the test says so. */
    readonly connect: (given?: AssistantConnectOptions) => Promise<AssistantClient>;
    /** Calls a tool that needs an approval, approves that on its page, and calls the tool again. */
    readonly approve: AssistantClient["call"];
    /** Sends JSON-RPC of 2026-07-28 that no well-behaved client would send. */
    readonly callRaw: (call: RawCall) => Promise<RawResult>;
    readonly plant: (kind: RowKind, fields: Readonly<Record<string, unknown>>) => Promise<RowId>;
    readonly visit: (url: string, form?: Form, headers?: HeaderFields) => Promise<Page>;
    readonly fetchPage: (request: Request) => Promise<Response>;
    readonly answerApi: ReturnType<typeof createService>["answer"];
    readonly press: (url: string, decision: "approve" | "decline", pin?: string) => Promise<Page>;
    readonly clock: TestClock;
    readonly advance: TestClock["advance"];
    readonly setClock: TestClock["setClock"];
    readonly untilAsleep: TestClock["untilAsleep"];
    readonly [Symbol.asyncDispose]: () => Promise<void>;
  };

type CarrierWatch = Pick<WatchedCarrier, "writes" | "countAsked" | "interrupt">;

export const eras = ["modern", "legacy", "v1"] as const;
export const legacyEras = ["legacy", "v1"] as const;
export type Era = (typeof eras)[number];

type AssistantConnectOptions = Partial<Pick<KeyContextOptions, "publicFiles" | "scopes">> &
  Pick<ClientOptions, "elicit" | "capabilities" | "version"> & {
    readonly era?: Era;
    readonly key?: string | undefined;
  };

export type AssistantClient = {
  readonly call: (
    tool: string,
    args?: Readonly<Record<string, unknown>>,
  ) => Promise<ToolResult["structured"]>;
  readonly callTool: (
    name: string,
    args?: Record<string, unknown>,
    /** Members of the request that a well-behaved client does not send. */
    extra?: Record<string, unknown>,
    options?: { onprogress?: (progress: Progress) => void; signal?: AbortSignal },
  ) => Promise<ToolResult>;
  /** The ids of questions that the server has reported as complete. */
  readonly completed: readonly string[];
  readonly readInstructions: () => string | undefined;
  readonly listTools: () => Promise<readonly ListedTool[]>;
  readonly readResource: (uri: string) => Promise<Resource>;
};

type Resource = { readonly contents: readonly { readonly uri: string; readonly text?: string }[] };

export type ListedTool = {
  readonly name: string;
  readonly inputSchema: {
    readonly properties?: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
  };
  readonly _meta?: unknown;
};

type RowKind = "link" | "ios_app" | "android_app";
type RowId = { readonly id: string };
export type Page = { readonly status: number; readonly html: string; readonly headers: Headers };
type Form = Readonly<Record<string, string>> | string;
type HeaderFields = Readonly<Record<string, string>>;

export type AssistantOptions = AssistantConnectOptions & {
  readonly mode?: Mode;
  /** The tools that the operator selected. */
  readonly selection?: readonly string[];
  readonly pin?: string | ((pin: string) => Promise<boolean>);
  /** Returns the URL of a page, for a test that opens it in a browser. */
  readonly openPage?: (id: string) => Promise<string>;
  /** The time between two writes of a job by the test's clock, by default 0. */
  readonly spacing_ms?: number;
  /** Whether a person can open pages in a browser. By default they can. */
  readonly listens?: boolean;
  /** Paths below /api/v1 that this deployment does not have. Other deployments may lack some. */
  readonly lacks?: readonly string[];
  readonly destinations?: readonly string[];
  readonly timeZone?: KeyContextOptions["timeZone"];
  /** Acts like a remote deployment: keys are unknown at first, and it checks no conditions. */
  readonly isRemote?: boolean;
  readonly origin?: string;
  /** The link host of the remote deployment, if the operator has set it. */
  readonly linkHost?: string;
  /** A remote deployment to use in place of the service in this process. */
  readonly remote?: { readonly url: string; readonly send: Send };
  /** Shares the service and state of this world, like another process in another mode. */
  readonly beside?: World;
};

export async function createAssistantWorld(
  options: AssistantOptions = {},
): Promise<AssistantWorld> {
  const { mode = "guarded", openPage = describePage, lacks = [], ...rest } = options;
  const {
    pin,
    beside,
    selection = [],
    spacing_ms = 0,
    listens = true,
    destinations,
    remote,
    isRemote = remote !== undefined,
    origin = remote?.url ?? "http://waypost.invalid",
    ...first
  } = rest;
  const world = beside ?? (await createWorld());
  const clock = createTestClock();
  const { advance, setClock, sleep, untilAsleep } = clock;
  const random = { bytes: (count: number) => randomBytes(count) };
  const reported: unknown[] = [];
  const refused: string[] = [];
  const report = (error: unknown) => `reference-${reported.push(error)}`;
  const state = await world.openState({ clock, random });
  const openTheState = () => Promise.resolve(state);
  const { store, setAlarm, file } = world;
  const service = createService({ store, setAlarm, clock, random, readLinkOrigin, report });
  const carry = remote?.send ?? sendEmbedded(service.answer);
  const { send, reach, ...watched } = watchCarrier(carry, lacks);
  const hash =
    typeof pin === "string" ? await openPin(await writePin(file, pin)) : pin && "not looked at";
  const toolbox = createToolbox({ mode, selection });
  const requireYes = createRequireApproval({
    mode,
    readPin: () => Promise.resolve(hash),
    openState: openTheState,
    openPage,
  });
  const requireApproval: typeof requireYes = async (...asked) => {
    await requireYes(...asked);
    await reach("approved");
  };
  const awaitDecision = createAwaitDecision({ openState: openTheState, clock, sleep });
  const clients = createClientMemory({ clock, openState: openTheState });
  const approveOverwrite = createApproveOverwrite({ mode, openState: openTheState });
  const asking = { requireApproval, approveOverwrite, awaitDecision, clients, clock };
  const fetchPage = createPages({
    openState: openTheState,
    checkPin: typeof pin === "function" ? pin : checkPin,
    onRefused: (reason) => refused.push(reason),
    clock,
    report,
  });
  const bulk = createBulk({
    openState: openTheState,
    clock,
    random,
    sleep,
    spacing_ms,
    report,
  });
  const closing: (() => Promise<void>)[] = [() => bulk.close()];
  // Our server is at one end of a pair of transports. This returns the other end.
  const serve = async (key: string | undefined, scopes?: AssistantConnectOptions["scopes"]) => {
    const [near, far] = InMemoryTransport.createLinkedPair();
    const isUnknown = key === undefined || isRemote;
    const lookUp = isUnknown ? () => Promise.resolve(undefined) : service.followKey(key);
    const nothing = { facts: undefined, linkHost: options.linkHost };
    const known = (await lookUp()) ?? { ...nothing, hasSecondHost: false };
    const keyContext = createKeyContext({
      client: createClient({
        target: { origin, key, isEmbedded: !isRemote },
        send,
        clock,
        random,
        sleep: (milliseconds) => Promise.resolve(advance(milliseconds)),
        setAlarm: setRealAlarm,
      }),
      bulk,
      origin,
      checksConditions: !isRemote,
      openHistory: () => Promise.resolve(state.history),
      openPreviews: () => Promise.resolve(createPreviews(state.kept)),
      key,
      scopes,
      destinations,
      publicFiles: options.publicFiles ?? noPublicFiles,
      known,
      isOffered: ({ tool }) => toolbox.find(tool) !== undefined,
      isActAllowed: toolbox.isActAllowed,
      readListening: listens ? readListening : () => Promise.resolve(undefined),
      lookUp,
      probe: "on",
      timeZone: options.timeZone,
      clock,
      sleep,
      report,
      onChange: () => {},
      onListed: () => {},
    });
    const create = () => createServer({ toolbox, keyContext, ...asking, version: "0", report });
    const handle = serveStdio(create, { transport: near });
    closing.push(() => handle.close());
    return far;
  };
  const keyOf = (given: AssistantConnectOptions) => ("key" in given ? given.key : world.key);
  const connect = async (given: AssistantConnectOptions = first) => {
    const transport = await serve(keyOf(given), given.scopes);
    const completed: string[] = [];
    const { era = "modern", ...person } = {
      ...given,
      onComplete: (id: string) => completed.push(id),
    };
    const client = era === "v1" ? createV1(person) : createV2(era, person);
    await client.connect(transport);
    closing.push(() => client.close());
    return { ...presentClient(client), completed };
  };
  const raws = new Map<string, Promise<ReturnType<typeof speakRaw>>>();
  const callRaw = async ({ key = keyOf(first) ?? "", ...call }: RawCall) => {
    const raw = raws.get(key) ?? serve(key).then(speakRaw);
    raws.set(key, raw);
    return (await raw)(call);
  };
  const visit: AssistantWorld["visit"] = async (url, form, headers = {}) => {
    const response = await fetchPage(
      new Request(url, {
        method: form === undefined ? "GET" : "POST",
        headers: { host: new URL(url).host, ...headers },
        ...(form !== undefined && { body: new URLSearchParams(form) }),
      }),
    );
    return { status: response.status, html: await response.text(), headers: response.headers };
  };
  const press: AssistantWorld["press"] = async (url, decision, pin) => {
    const token = readToken((await visit(url)).html);
    return visit(url, { token, decision, ...(pin !== undefined && { pin }) });
  };
  const client = await connect();
  return {
    world,
    state,
    bulk,
    ...watched,
    reported,
    refused,
    connect,
    ...client,
    callRaw,
    plant: (kind, fields) => world.make(`/${kind}s`, kind === "link" ? fields : { [kind]: fields }),
    visit,
    fetchPage,
    answerApi: service.answer,
    clock,
    press,
    approve: async (tool, args) => {
      const { error } = await client.call(tool, args);
      expect(error).toMatchObject({ code: "approval_required" });
      await press(error.approval.url, "approve");
      return client.call(tool, args);
    },
    advance,
    setClock,
    untilAsleep,
    [Symbol.asyncDispose]: async () => {
      for (const close of closing) await close();
      await state.close();
      if (beside === undefined) await world[Symbol.asyncDispose]();
    },
  };
}

/** The URL of an approval page. No server listens there. */
function describePage(id: string): Promise<string> {
  return Promise.resolve(`http://127.0.0.1:8787${approvalPath}${id}`);
}

/** Reads the token of a page, which only a browser that has loaded the page knows. */
export function readToken(html: string): string {
  return /name="token" value="([^"]*)"/.exec(html)?.[1] ?? "";
}

async function writePin(file: string, pin: string): Promise<string> {
  const path = join(dirname(file), "pin");
  await writeFile(path, `${pin}\n`, { mode: 0o600 });
  return path;
}

/** The public internet without any files. Tests never use the real one. */
export const noPublicFiles: PublicFiles = {
  fetchFile: () => Promise.resolve({ kind: "not_public" }),
  mayAsk: () => Promise.resolve(true),
};

export function presentClient(client: ClientV1 | ClientV2): Omit<AssistantClient, "completed"> {
  return {
    callTool: (name, args, extra, options) =>
      callTool(client, { name, arguments: { ...args }, ...extra }, options),
    call: async (name, args) =>
      (await callTool(client, { name, arguments: { ...args } })).structured,
    // The clients have different types for the same JSON.
    listTools: async () => (await client.listTools()).tools as readonly ListedTool[],
    readResource: (uri) => client.readResource({ uri }),
    readInstructions: () => client.getInstructions(),
  };
}

/** The requests from an assistant's client to the API. A test can watch them and interfere. */
type WatchedCarrier = {
  readonly send: Send;
  /** Requests that change something or cost budget, such as previews, and that reached the API. */
  readonly writes: readonly string[];
  /** The number of all requests to the API. */
  readonly countAsked: () => number;
  /** Makes another client's edit once at that moment, before the call continues. */
  readonly interrupt: (moment: Moment, edit: Edit) => void;
  readonly reach: (moment: Moment) => Promise<void>;
};

/** Right after an approval was counted, or right before a request that changes something. */
type Moment = "approved" | "write";
type Edit = () => Promise<unknown>;

/** The 404 of a deployment without this path: many frameworks send a page of their own. */
const notThere = {
  status: 404,
  headers: {},
  readBody: () => Promise.resolve("<!doctype html>"),
};

function watchCarrier(carry: Send, lacks: readonly string[]): WatchedCarrier {
  const writes: string[] = [];
  const waiting = new Map<Moment, Edit>();
  let asked = 0;
  const reach = async (moment: Moment) => {
    const edit = waiting.get(moment);
    waiting.delete(moment);
    await edit?.();
  };
  return {
    send: async (request, signal) => {
      if (request.onlyBudget === true) return carry(request, signal);
      const { pathname } = new URL(request.url);
      asked += 1;
      if (changesSomething(request) || pathname.endsWith("/preview")) {
        writes.push(`${request.method} ${pathname}`);
      }
      if (lacks.some((path) => pathname === `/api/v1${path}`)) return notThere;
      if (changesSomething(request)) await reach("write");
      return carry(request, signal);
    },
    writes,
    countAsked: () => asked,
    interrupt: (moment, edit) => void waiting.set(moment, edit),
    reach,
  };
}

/** POST is also used to render previews and to resolve addresses. An empty save reads a draft. */
function changesSomething({ method, url, body }: ApiRequest): boolean {
  return method !== "GET" && !/\/(?:preview|resolve)$/.test(url) && body !== "{}";
}

type Options = Omit<PageOptions, "hostnames" | "onDecided">;

const hostnames = ["127.0.0.1", "localhost"];

function createPages(options: Options): (request: Request) => Promise<Response> {
  const { openState, report } = options;
  const approvals = createApprovalPages({ ...options, hostnames, onDecided: () => {} });
  const openPreviews = async () => createPreviews((await openState()).kept);
  const previews = createPreviewPages({ openPreviews, hostnames, report });
  return (request) => {
    const isPreview = new URL(request.url).pathname.startsWith(previewPath);
    return (isPreview ? previews : approvals).fetch(request);
  };
}
