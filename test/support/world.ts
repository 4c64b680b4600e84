import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import type { AnswerApi } from "../../src/contract/api-message.ts";
import type { Clock, Random, SetAlarm } from "../../src/contract/clock.ts";
import { apiPrefix } from "../../src/contract/index.ts";
import type { ProjectFields } from "../../src/contract/projects.ts";
import type { Role, Scope } from "../../src/contract/rights.ts";
import { createClicks, type Clicks } from "../../src/host/clicks.ts";
import { readText, writeBody, type AnswerHttp } from "../../src/service/http.ts";
import { createKeylessReader } from "../../src/network/read-body.ts";
import { issueKey } from "../../src/service/keys.ts";
import { makeProject } from "../../src/service/write-project.ts";
import type { ProjectSettings, StoredProject } from "../../src/store/projects.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { createAlarms, neverRing } from "./clock.ts";
import { createService } from "./api-description.ts";
import { createPlace, isOnPostgres, type StorePlace } from "./store-place.ts";
import { requestIdHeader } from "../../src/text/request-id.ts";
import {
  closeHttpServer,
  createHttpServer,
  listenAt,
  setRequestHandlers,
  type RequestHandlers,
} from "../../src/app/http/http-server.ts";
import { expect } from "vitest";

/** Use this for the API: a whole small service in this process, with its public interface. */

/** A small service on a real store: a project, its owner's key, a test clock and API calls. */
export type World = {
  readonly store: Store;
  readonly clicks: Clicks;
  readonly clock: Clock;
  /** Sets alarms of that clock. They ring only when the test moves it. */
  readonly setAlarm: SetAlarm;
  readonly fetch: (request: Request) => Promise<Response>;
  /** Answers requests as plain data, which is faster for thousands of requests. */
  readonly answer: AnswerApi;
  /** The file of the store. Unused on PostgreSQL. */
  readonly file: string;
  readonly openSql: StorePlace["open"];
  readonly openState: StorePlace["openState"];
  readonly isBusy: StorePlace["isBusy"];
  readonly project: StoredProject;
  /** The token of the project's owner, with full access. */
  readonly key: string;
  readonly master: string;
  /** The unexpected errors of the service. A test that expects none checks this. */
  readonly reported: readonly unknown[];
  readonly addProject: (given?: ProjectFields & Partial<ProjectSettings>) => Promise<StoredProject>;
  readonly addKey: (given?: KeyOptions) => Promise<string>;
  readonly call: Call;
  readonly make: Make;
  readonly now: () => number;
  readonly advance: (milliseconds: number) => void;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type KeyOptions = {
  readonly project?: { readonly id: string } | null;
  readonly scopes?: readonly Scope[];
  readonly role?: Role;
};

export const origin = "http://localhost:8787";
export const linkOrigin = "http://{subdomain}.localhost:8787";
export const readLinkOrigin = () => linkOrigin;
export const readListening = () =>
  Promise.resolve({ url: origin, links: linkOrigin, isTemporary: false });

/** Worlds with the same random bytes have the same ids and keys. */
export async function createWorld(bytes: Random["bytes"] = randomBytes): Promise<World> {
  const place = await createPlace();
  if (!isOnPostgres) await writeFile(place.file, await (emptyFile ??= makeEmptyFile()));
  let now = Date.UTC(2026, 0, 15, 12);
  let monotonic = 0;
  // The default project is the first.
  let projects = 1;
  const reported: unknown[] = [];
  const clock = { now: () => now, monotonic: () => monotonic };
  const { setAlarm, ringDue } = createAlarms(clock);
  const store = await openStore(await place.open(), setAlarm);
  const maker = { clock, random: { bytes } };
  const report = (error: unknown) => `reference-${reported.push(error)}`;
  const clicks = createClicks({ store, clock, setAlarm, report });
  const service = createService({
    ...maker,
    store,
    setAlarm,
    readLinkOrigin,
    waitForClicks: clicks.flush,
    noteReported: clicks.noteReported,
    report,
  });

  const readKeyless = createKeylessReader(clock.monotonic);
  const fetch = async (request: Request) => {
    const { method, url, headers, signal } = request;
    const reply = await service.answer({
      method,
      url,
      headers: Object.fromEntries(headers),
      body: (sender) => readText(request, sender, () => readKeyless(request, undefined)),
      onLeave: (leave) => signal.addEventListener("abort", leave),
      hasLeft: () => signal.aborted,
    });
    return new Response(writeBody(reply), { status: reply.status, headers: reply.headers });
  };

  const addProject: World["addProject"] = (given = {}) => {
    const { name, subdomain, custom_domain, ...settings } = given;
    projects += 1;
    const fields = {
      name: name ?? `Project ${projects}`,
      subdomain: subdomain ?? `project-${projects}`,
      custom_domain: custom_domain ?? null,
    };
    return store.write((db) => makeProject(db, maker, fields, settings));
  };
  const addKey: World["addKey"] = async (given = {}) => {
    const wanted = {
      project_id: given.project === null ? null : (given.project ?? project).id,
      scopes: given.scopes ?? [],
      role: given.role ?? "owner",
    };
    return (await store.write((db) => issueKey(db, maker, wanted))).token;
  };
  const { project, key, master } = await store.write(async (db) => {
    const fields = { name: "Default", subdomain: "default", custom_domain: null };
    const made = await makeProject(db, maker, fields);
    const issue = (project_id: string | null) =>
      issueKey(db, maker, { project_id, scopes: [], role: "owner" });
    const [owner, master] = [await issue(made.id), await issue(null)];
    return { project: made, key: owner.token, master: master.token };
  });

  const call = createCall(origin + apiPrefix, key, fetch);
  return {
    store,
    clicks,
    clock,
    setAlarm,
    fetch,
    answer: service.answer,
    file: place.file,
    openSql: place.open,
    openState: place.openState,
    isBusy: place.isBusy,
    project,
    key,
    master,
    reported,
    addProject,
    addKey,
    call,
    make: createMake(call),
    now: clock.now,
    advance: (milliseconds) => {
      now += milliseconds;
      monotonic += milliseconds;
      ringDue();
    },
    [Symbol.asyncDispose]: async () => {
      await clicks.close();
      await store.close();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** Copying a file with its tables takes half of the time of creating them. */
let emptyFile: Promise<Buffer> | undefined;

async function makeEmptyFile(): Promise<Buffer> {
  await using place = await createPlace();
  const store = await openStore(await place.open(), neverRing);
  await store.close();
  return readFile(place.file);
}

export type Call = (method: string, path: string, given?: CallInput) => Promise<Reply>;

export type CallInput = {
  /** A token, or null for a call without a key. By default the owner's token. */
  readonly key?: string | null;
  /** Objects are sent as JSON, texts as they are. */
  readonly body?: unknown;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Tests read replies as freely as a client in any language would.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
};

export function createCall(
  api: string,
  key: string,
  send: (request: Request) => Promise<Response>,
): Call {
  return async (method, path, given = {}) =>
    readReply(await send(buildRequest(api + path, method, { key, ...given })));
}

/** Creates a record by a POST to its list, which must succeed, and returns the record. */
export type Make = (path: string, body: object) => Promise<Reply["body"]>;

export function createMake(call: Call): Make {
  return async (path, body) => {
    const reply = await call("POST", path, { body });
    expect(reply.status, reply.text).toBe(201);
    return reply.body;
  };
}

function buildRequest(address: string, method: string, given: CallInput): Request {
  const { key, body, query, headers = {} } = given;
  const request = new Request(query === undefined ? address : `${address}?${query}`, {
    method,
    headers: {
      ...(key !== null && key !== undefined && { authorization: `Token ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  // Tests may write the names of headers in any case.
  for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
  return request;
}

async function readReply(response: Response): Promise<Reply> {
  const text = await response.text();
  const isPage = response.headers.get("content-type")?.startsWith("text/html") === true;
  const body = text === "" ? null : isPage ? text : JSON.parse(text);
  const headers = new Headers(response.headers);
  // Each response has a new request id. Comparisons must ignore it.
  headers.delete(requestIdHeader);
  return { status: response.status, headers, text, body };
}

/** The handlers of a server that only answers its probes. */
export const noHandlers: RequestHandlers = {
  api: undefined,
  mcp: undefined,
  pages: {},
  links: undefined,
  hostnames: [],
  readUnready: () => Promise.resolve(undefined),
  trustedProxies: undefined,
};

export async function serveApi(api: AnswerHttp) {
  const server = createHttpServer();
  setRequestHandlers(server, { ...noHandlers, api });
  const port = await listenAt(server, { host: "127.0.0.1", port: 0 });
  return { server, port, close: () => closeHttpServer(server) };
}
