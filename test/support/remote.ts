import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { text } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import { openRemoteSender } from "../../src/client/remote-sender.ts";
import {
  createAssistantWorld,
  type AssistantOptions,
  type AssistantWorld,
} from "./assistant-world.ts";
import { createWorld } from "./world.ts";
import { createGate } from "./clock.ts";
import { openServer } from "./ports.ts";

/** Use this for a remote server that a test scripts, or a real one whose replies it alters. */

export type AlteringProxy = {
  readonly url: string;
  readonly requests: readonly ProxiedRequest[];
  readonly setAlter: (alter: ReplyEdit) => void;
  readonly setTurn: (turn: Turn) => void;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type ProxiedRequest = {
  readonly method: string;
  readonly path: string;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type ProxiedReply = {
  readonly status: number;
  /** Names are in lower case. The length is not included, because it depends on the body. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** The reply to send in place of the target's; undefined closes the connection. */
export type ReplyEdit = (
  request: ProxiedRequest,
  reply: ProxiedReply,
) => ProxiedReply | undefined | Promise<ProxiedReply | undefined>;

type Turn = (request: ProxiedRequest) => ProxiedRequest;

const keep: Turn = (request) => request;

/** `target` is a base address. The target has carried out a request before `alter` runs. */
export async function startAlteringProxy(target: string, alter: ReplyEdit): Promise<AlteringProxy> {
  const requests: ProxiedRequest[] = [];
  let current = alter;
  let turn = keep;
  const deployment = await startDeployment(async (incoming, response) => {
    const request = await readRequest(incoming);
    requests.push(request);
    // If the target was closed, there is no reply to alter.
    const reply = await forward(target, turn(request)).catch(() => undefined);
    const altered = reply && (await current(request, reply));
    if (altered === undefined) response.destroy();
    else write(response, altered);
  });
  return {
    url: deployment.url,
    requests,
    setAlter: (next) => (current = next),
    setTurn: (next) => (turn = next),
    [Symbol.asyncDispose]: () => deployment[Symbol.asyncDispose](),
  };
}

export function replyWith(body: unknown, status = 200): ProxiedReply {
  const headers = { "content-type": "application/json" };
  return { status, headers, body: JSON.stringify(body) };
}

export function withBody(reply: ProxiedReply, change: (body: never) => unknown): ProxiedReply {
  if (reply.body === "") return reply;
  // The test knows what the target answers.
  return { ...reply, body: JSON.stringify(change(JSON.parse(reply.body) as never)) };
}

export type Fields = Readonly<Record<string, unknown>>;

export function alterLinks(change: (link: Fields) => unknown): ReplyEdit {
  return ({ path }, reply) => {
    if (!path.startsWith("/api/v1/links")) return reply;
    return withBody(reply, (body: Fields) => {
      if (!Array.isArray(body["links"])) return change(body);
      return { ...body, links: body["links"].map(change) };
    });
  };
}

async function readRequest(incoming: IncomingMessage): Promise<ProxiedRequest> {
  const { method = "GET", url: path = "/" } = incoming;
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
  return { method, path, headers: Object.fromEntries(headers), body: await text(incoming) };
}

/** Names of headers that belong to a connection, not to a message. */
const ofConnection = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "transfer-encoding",
]);

async function forward(target: string, request: ProxiedRequest): Promise<ProxiedReply> {
  const { method, path, headers, body } = request;
  const reply = await fetch(new URL(path, target), {
    method,
    headers: ofMessage(Object.entries(headers)),
    redirect: "manual",
    ...(body !== "" && { body }),
  });
  return { status: reply.status, headers: ofMessage([...reply.headers]), body: await reply.text() };
}

function ofMessage(headers: readonly (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries(headers.filter(([name]) => !ofConnection.has(name)));
}

function write(response: ServerResponse, { status, headers, body }: ProxiedReply): void {
  response.writeHead(status, headers).end(body);
}

/** An assistant with a real service over HTTP, whose replies a test alters. */
export type StrangeWorld = Omit<AssistantWorld, "writes" | "countAsked" | "interrupt"> & {
  readonly proxy: AlteringProxy;
  readonly listWrites: () => readonly string[];
};

export async function createStrangeWorld(
  alter: ReplyEdit = (_, reply) => reply,
  options: AssistantOptions = {},
): Promise<StrangeWorld> {
  const world = await createWorld();
  const target = await startDeployment(getRequestListener((request) => world.fetch(request)));
  const proxy = await startAlteringProxy(target.url, alter);
  const { send, close } = openRemoteSender();
  const remote = { url: proxy.url, send };
  const assistant = await createAssistantWorld({ mode: "full", ...options, beside: world, remote });
  return {
    ...assistant,
    proxy,
    listWrites: () =>
      proxy.requests
        // Saves without changes only find out what a key may do.
        .filter(({ method, body }) => method !== "GET" && !/^\{("\w+":\{\})?\}$/.test(body))
        .map(({ method, path }) => `${method} ${path}`),
    [Symbol.asyncDispose]: async () => {
      await assistant[Symbol.asyncDispose]();
      await close();
      await proxy[Symbol.asyncDispose]();
      await target[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** Makes the deployment ignore Waypost's own filters, as an API does with unknown parameters. */
export function ignoreOwn({ proxy }: StrangeWorld): void {
  proxy.setTurn((request) => {
    const [path = "", query] = request.path.split("?");
    if (query === undefined) return request;
    const known = [...new URLSearchParams(query)].filter(([name]) => !name.startsWith("f["));
    return { ...request, path: `${path}?${new URLSearchParams(known).toString()}` };
  });
}

/** Makes it ignore Waypost's own filters and list four links per page, six seconds each. */
export function beSlow({ proxy, advance }: StrangeWorld): void {
  proxy.setAlter((request, reply) => {
    if (request.path.startsWith("/api/v1/links?")) advance(6000);
    return reply;
  });
  proxy.setTurn((request) => ({
    ...request,
    path: request.path.replace(/&?f%5B[^&]*/g, "").replace("limit=100", "limit=4"),
  }));
}

export type Deployment = {
  readonly url: string;
  readonly requests: readonly IncomingMessage[];
  readonly connections: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type RemoteHandler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export async function startDeployment(answer: RemoteHandler): Promise<Deployment> {
  const requests: IncomingMessage[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    requests.push(request);
    void answer(request, response);
  });
  server.on("connection", () => (connections += 1));
  return { ...(await openServer(server)), requests, connections: () => connections };
}

export const answerEmpty: RemoteHandler = (_, response) => {
  const meta = { page: 1, limit: 25, count: 0, last: 1, from: 0, to: 0 };
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ links: [], meta }));
};

/** The same, but each response waits until `letGo` is called. */
export function holdAnswers(): { readonly answer: RemoteHandler; readonly letGo: () => void } {
  const gate = createGate();
  const answer: RemoteHandler = async (request, response) => {
    await gate.opened;
    await answerEmpty(request, response);
  };
  return { answer, letGo: gate.open };
}

export const answerNever: RemoteHandler = () => undefined;
