import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect } from "vitest";
import { setAlarm } from "../../src/app/process/embedded.ts";
import type { Role, Scope } from "../../src/contract/rights.ts";
import { issueKey } from "../../src/service/keys.ts";
import { makeProject } from "../../src/service/write-project.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { deleteKey } from "../../src/store/keys.ts";
import { updateProject, type ProjectSettings } from "../../src/store/projects.ts";
import { openStore } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { createUsedFolder, startServe, untilSeen, type Serving } from "./command.ts";
import { Agent, request as httpRequest, type OutgoingHttpHeaders } from "node:http";
import { checkText } from "./api-description.ts";
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { describeCommand, findStrayLines, listen, self, type StdioChild } from "./mcp-clients.ts";
import { waitUntil } from "./clock.ts";
import type { InMemoryTransport } from "@modelcontextprotocol/client";

/** Use this for single MCP messages to the built command, over HTTP or stdio. */

export type TestServer = {
  readonly data: string;
  readonly serving: Serving;
  readonly addTenant: (wanted?: TenantOptions) => Promise<Tenant>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type Tenant = {
  readonly key: string;
  readonly subdomain: string;
  /** The server sees changes of other processes after a moment, so these wait for it. */
  readonly suspend: (isSuspended: boolean) => Promise<void>;
  readonly setRole: (role: Role) => Promise<void>;
  readonly revoke: () => Promise<void>;
};

type TenantOptions = Partial<ProjectSettings> & {
  readonly scopes?: readonly Scope[];
  readonly role?: Role;
};

export async function openTestServer(): Promise<TestServer> {
  const folder = await createUsedFolder();
  const data = folder.path;
  const serving = await startServe(data);
  const file = join(data, "waypost.db");
  const sqlite = await openSqlite<Tables>(file, { applicationId: 0x57415950 });
  const store = await openStore(sqlite, setAlarm);
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const maker = { clock, random: { bytes: (count: number) => randomBytes(count) } };
  let tenants = 0;

  const addTenant: TestServer["addTenant"] = async (wanted = {}) => {
    const { scopes = [], role = "owner", ...settings } = wanted;
    tenants += 1;
    const subdomain = `tenant-${tenants}`;
    const fields = { name: `Tenant ${tenants}`, subdomain, custom_domain: null };
    const { project, key } = await store.write(async (db) => {
      const project = await makeProject(db, maker, fields, settings);
      const wantedKey = { project_id: project.id, scopes, role };
      return { project, key: await issueKey(db, maker, wantedKey) };
    });
    return {
      key: key.token,
      subdomain,
      suspend: async (suspended) => {
        await store.write((db) => updateProject(db, project.id, { suspended }, clock.now()));
        await untilSeen();
      },
      setRole: async (role) => {
        await store.write((db) =>
          db.updateTable("api_keys").set({ role }).where("id", "=", key.id).execute(),
        );
        await untilSeen();
      },
      revoke: async () => {
        await store.write((db) => deleteKey(db, key.id));
        await untilSeen();
      },
    };
  };

  return {
    data,
    serving,
    addTenant,
    [Symbol.asyncDispose]: async () => {
      await serving.stop("SIGKILL");
      await store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export async function decideOnPage(url: string, decision: "approve" | "decline"): Promise<void> {
  const page = await (await fetch(url)).text();
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const fields = hidden.map(([, name = "", value = ""]): [string, string] => [name, value]);
  expect(fields.length).toBeGreaterThan(0);
  const response = await fetch(url, {
    method: "POST",
    headers: { origin: new URL(url).origin },
    body: new URLSearchParams([...fields, ["decision", decision]]),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
}

export type HttpReply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
};

export type HttpPost = {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** A text is sent as it is. Several are sent one after another, without a length. */
  readonly body?: string | readonly string[];
  readonly agent?: Agent;
};

const revision = "2026-07-28";

export async function post(url: string, given: HttpPost): Promise<HttpReply> {
  if (given.agent !== undefined) return postOver(given.agent, url, given);
  // After a refusal in the middle of a body, a connection cannot be used again.
  const own = new Agent({ keepAlive: true });
  return postOver(own, url, given).finally(() => own.destroy());
}

function postOver(agent: Agent, url: string, given: HttpPost): Promise<HttpReply> {
  const { method = "POST", headers = {}, body = "" } = given;
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent });
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        const posted = { status: response.statusCode ?? 0, headers: response.headers, text };
        const sent = { method, url, body: typeof body === "string" ? body : body.join("") };
        try {
          checkText(sent, posted);
          resolve(posted);
        } catch (error) {
          reject(error);
        }
      });
      response.on("error", reject);
    });
    request.on("error", reject);
    if (typeof body === "string") {
      request.end(body);
    } else {
      for (const part of body) request.write(part);
      request.end();
    }
  });
}

/** A single call in 2026-07-28, which needs no session. */
export function modernCall(token: string, id: number | string, name: string, args: object = {}) {
  const { method, params } = callOf(id, name, args);
  return modernRequest(token, id, method, params);
}

export function modernRequest(token: string, id: number | string, method: string, params: object) {
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return {
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": revision,
      "mcp-method": method,
      ...("name" in params && { "mcp-name": String(params.name) }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: envelope } }),
  };
}

/** A message of the earlier revisions, within a session or to open one. */
export function withSession(token: string, id: string | undefined, message?: object) {
  return {
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(id !== undefined && { "mcp-session-id": id }),
    },
    body: message === undefined ? "" : JSON.stringify(message),
  };
}

/** A stream of notifications in a session, which lasts until the server ends it. */
export async function listenInSession(url: string, token: string): Promise<Response> {
  const opened = await post(url, withSession(token, undefined, handshake[0]));
  const id = String(opened.headers["mcp-session-id"]);
  await post(url, withSession(token, id, handshake[1]));
  const { headers } = withSession(token, id);
  return fetch(url, { headers: { ...headers, accept: "text/event-stream" } });
}

export async function listenModern(url: string, token: string): Promise<Response> {
  return fetch(url, { method: "POST", ...listenRequest(token) });
}

export function listenRequest(token: string) {
  const notifications = { toolsListChanged: true };
  return modernRequest(token, "listen", "subscriptions/listen", { notifications });
}

/** Our command over stdio without a client: the test writes each line. */
export type RawSession = StdioChild & {
  /** Sends objects as JSON and texts as they are, each on a line. */
  readonly send: (...lines: readonly unknown[]) => void;
  /** Resolves with the message of this id, or throws the output if the process ends first. */
  readonly answer: (id: number | string | null) => Promise<Message>;
  /** Sends lines with an immediate response. Resolves with all messages received until then. */
  readonly exchange: (...lines: readonly unknown[]) => Promise<readonly Message[]>;
  readonly heard: () => readonly Message[];
  readonly count: (id: number | string | null) => number;
  readonly handshake: () => Promise<void>;
  readonly child: ChildProcess;
  /** Kills the process, and checks its output. */
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type Message = {
  readonly id?: number | string | null;
  // Tests read messages as freely as a client in any language would.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
};

type Options = {
  readonly data: string;
  readonly words?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

export function startRaw(options: Options): RawSession {
  const { command, args, env } = describeCommand({ transport: "stdio", ...options });
  const child = spawn(command, args, { env: { PATH: process.env["PATH"], ...env } });
  const spoken = listen(child);
  const messages: Message[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => messages.push(JSON.parse(line)));
  // Writing to an ended process fails. The tests then check its output.
  child.stdin.on("error", () => undefined);

  const find = (id: Message["id"]) => messages.filter((message) => message.id === id);
  const send: RawSession["send"] = (...lines) => {
    const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
    child.stdin.write(texts.map((text) => `${text}\n`).join(""));
  };
  let isOver = false;
  void spoken.ended.then(() => (isOver = true));
  const answer: RawSession["answer"] = async (id) => {
    await waitUntil(() => isOver || find(id).length > 0);
    const [found] = find(id);
    if (found !== undefined) return found;
    throw new Error(`it ended without an answer to ${id}, but with ${JSON.stringify(messages)}`);
  };
  let exchanges = 0;
  const exchange: RawSession["exchange"] = async (...lines) => {
    const before = messages.length;
    const id = `exchange ${(exchanges += 1)}`;
    // The responses to the lines are written before the response to this ping.
    send(...lines, { jsonrpc: "2.0", id, method: "ping" });
    const last = await answer(id);
    return messages.slice(before, messages.indexOf(last));
  };
  return {
    ...spoken,
    child,
    send,
    answer,
    exchange,
    heard: () => messages,
    count: (id) => find(id).length,
    handshake: async () => {
      send(...handshake);
      await answer("handshake");
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await spoken.ended;
      const strays = findStrayLines(spoken.stdout());
      if (strays.length > 0) throw new Error(`not JSON-RPC on stdout: ${strays.join("\n")}`);
    },
  };
}

export const handshake = [
  {
    jsonrpc: "2.0",
    id: "handshake",
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
] as const;

export function callOf(id: number | string, name: string, args: object = {}) {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } };
}

export type RawCall = {
  readonly method?: string;
  readonly name?: string;
  readonly taskId?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly key?: string;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly clientInfo?: Readonly<Record<string, unknown>>;
  readonly inputResponses?: unknown;
  readonly requestState?: unknown;
};

// Tests read replies as freely as a client in any language would.
// oxlint-disable-next-line typescript/no-explicit-any
export type RawResult = any;

const aForm = { elicitation: { form: {} } };

export function speakRaw(transport: InMemoryTransport): (call: RawCall) => Promise<RawResult> {
  const waiting = new Map<unknown, (message: RawResult) => void>();
  let calls = 0;
  // Protocol transports are not event targets and have only this listener.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  transport.onmessage = (message: RawResult) => waiting.get(message.id)?.(message);
  const started = transport.start();
  return async ({ method = "tools/call", capabilities = aForm, clientInfo = self, ...params }) => {
    await started;
    const id = (calls += 1);
    const answered = new Promise<RawResult>((resolve) => waiting.set(id, resolve));
    const envelope = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
    const asked = { ...params, ["_meta"]: envelope };
    // Tests may also send invalid messages.
    const message = { jsonrpc: "2.0", id, method, params: asked };
    await transport.send(message as unknown as Parameters<InMemoryTransport["send"]>[0]);
    const { result, error } = await answered;
    waiting.delete(id);
    return result ?? { protocolError: error };
  };
}
