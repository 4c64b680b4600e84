import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { startDeployment } from "./mcp-deployment.ts";

/** Stands before a real deployment, and lets a test change what that answers. */
export type AlteringProxy = {
  /** The base address to use in place of the target's. */
  readonly url: string;
  /** What came so far, in its order. */
  readonly requests: readonly ProxiedRequest[];
  /** From now on this is done with each reply. */
  readonly setAlter: (alter: Alter) => void;
  /** And this with each request before the target gets it. */
  readonly setTurn: (turn: Turn) => void;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type ProxiedRequest = {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type ProxiedReply = {
  readonly status: number;
  /** Names in lower case; without a length, which follows from the body. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** What is answered in place of the target's reply; undefined breaks the connection off. */
export type Alter = (
  request: ProxiedRequest,
  reply: ProxiedReply,
) => ProxiedReply | undefined | Promise<ProxiedReply | undefined>;

type Turn = (request: ProxiedRequest) => ProxiedRequest;

const keep: Turn = (request) => request;

/** `target` is a base address. The target has always done what it was asked before `alter` runs. */
export async function startAlteringProxy(target: string, alter: Alter): Promise<AlteringProxy> {
  const requests: ProxiedRequest[] = [];
  let current = alter;
  let turn = keep;
  const deployment = await startDeployment(async (incoming, response) => {
    const request = await readRequest(incoming);
    requests.push(request);
    // A target that is closed meanwhile leaves nothing to alter.
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

/** A reply as an API would give it, whatever the target said. */
export function replyWith(body: unknown, status = 200): ProxiedReply {
  const headers = { "content-type": "application/json" };
  return { status, headers, body: JSON.stringify(body) };
}

/** The same reply with another JSON body. */
export function withBody(reply: ProxiedReply, change: (body: never) => unknown): ProxiedReply {
  if (reply.body === "") return reply;
  // The test knows what the target answers.
  return { ...reply, body: JSON.stringify(change(JSON.parse(reply.body) as never)) };
}

async function readRequest(incoming: IncomingMessage): Promise<ProxiedRequest> {
  const { method = "GET", url: path = "/" } = incoming;
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
  return { method, path, headers: Object.fromEntries(headers), body: await text(incoming) };
}

/** Names that belong to one connection and not to the message. */
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
