import { randomUUID } from "node:crypto";
import {
  INVALID_REQUEST,
  WebStandardStreamableHTTPServerTransport,
  type Server,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import { createLeaving } from "../../contract/waiting.ts";
import type { OpenCall } from "./call-limits.ts";
import { answerFast, type FastCalls } from "./fast-path/fast-calls.ts";
import { idIsOpen, isHandshake, listRequestIds, readCancelled, type RpcId } from "./messages.ts";
import { refuseCalls, refuseFull, refuseUnknownSession, respondWithError } from "./refusals.ts";
import { answerUntilEnd } from "./response-end.ts";

/**
 * Keeps the sessions of clients that use a protocol revision before 2026-07-28. A key can use only
 * its own sessions.
 */
export type McpSessions = {
  readonly fetch: (request: SessionRequest) => Promise<Response>;
  /** Notifies every client of the key that its list of tools has changed. */
  readonly notifyToolsChanged: (key_print: string) => void;
  /** How many sessions are open, of all keys or of one. */
  readonly count: (key_print?: string) => number;
  readonly close: () => Promise<void>;
};

type SessionRequest = {
  readonly owner: SessionOwner;
  readonly request: Request;
  /** The parsed body; undefined for a request without one. */
  readonly body?: unknown;
  /** Set for a POST, which has to wait until it may be handled. */
  readonly call?: OpenCall | undefined;
};

/** The key that a session belongs to, and how to open a server for the session. */
export type SessionOwner = {
  readonly key_print: string;
  readonly openServer: () => { readonly server: Server; readonly fast: FastCalls };
};

type McpSession = {
  readonly id: string;
  readonly owner: SessionOwner;
  readonly server: Server;
  readonly fast: FastCalls;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** The running requests by their ids. One batch has several ids with the same entry. */
  readonly streams: Map<RpcId, RunningMessage>;
  /** The number of responses that have not ended. */
  open: number;
  /** When the last response ended, by the monotonic clock. */
  usedAt: number;
};

type RunningMessage = {
  /** The requests of the message that the client has not cancelled. */
  readonly waiting: Set<RpcId>;
  /** Ends the response. */
  readonly leave: () => void;
  readonly call: OpenCall | undefined;
};

/** A session takes 20 KB, or 50 KB while its client listens. */
const most = 2500;
/** High, because all users behind a gateway share one key. */
const mostOfKey = 1250;
const idle_ms = 30 * 60_000;
/**
 * At the limit, sessions that are idle for this long are closed. Their clients open new ones on
 * their own.
 */
const idleWhenFull_ms = 5 * 60_000;

export function createSessions({ monotonic }: Pick<Clock, "monotonic">): McpSessions {
  const sessions = new Map<string, McpSession>();
  const listOf = (key_print: string) =>
    [...sessions.values()].filter(({ owner }) => owner.key_print === key_print);

  return {
    fetch: async (asked) => {
      const id = asked.request.headers.get("mcp-session-id");
      if (id === null) return open(asked);
      const session = sessions.get(id);
      if (session?.owner.key_print !== asked.owner.key_print) return refuseUnknownSession();
      if (endIdle([session], idle_ms) > 0) return refuseUnknownSession();
      return answer(session, asked, monotonic);
    },
    notifyToolsChanged: (key_print) => {
      for (const { server } of listOf(key_print)) {
        // If the client is gone, its session is closed after the idle time.
        server.sendToolListChanged().catch(() => undefined);
      }
    },
    count: (key_print) => {
      endIdle(sessions.values(), idle_ms);
      return key_print === undefined ? sessions.size : listOf(key_print).length;
    },
    close: async () => void (await Promise.all([...sessions.values()].map(end))),
  };

  /** Only `initialize` opens a session. The transport rejects everything else. */
  async function open(asked: SessionRequest): Promise<Response> {
    if (isHandshake(asked.body) && !hasRoom(asked.owner.key_print)) return refuseFull(asked.body);
    const id = randomUUID();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => void sessions.set(id, session),
      onsessionclosed: () => end(session),
    });
    const { owner } = asked;
    const { server, fast } = owner.openServer();
    const usedAt = monotonic();
    const session = { id, owner, server, fast, transport, streams: new Map(), open: 0, usedAt };
    leavePlaceWhenAsking(session);
    try {
      await server.connect(transport);
      return await answer(session, asked, monotonic);
    } finally {
      if (!sessions.has(id)) await server.close();
    }
  }

  function hasRoom(key_print: string): boolean {
    endIdle(sessions.values(), idle_ms);
    const ofKey = listOf(key_print);
    if (ofKey.length >= mostOfKey) return endIdle(ofKey, idleWhenFull_ms) > 0;
    return sessions.size < most || endIdle(sessions.values(), idleWhenFull_ms) > 0;
  }

  /** Closes the idle sessions and returns their number. */
  function endIdle(some: Iterable<McpSession>, most_ms: number): number {
    const before = monotonic() - most_ms;
    const idle = [...some].filter(({ open, usedAt }) => open === 0 && usedAt < before);
    for (const session of idle) void end(session);
    return idle.length;
  }

  /** Removes the session before the first await, so that no new request can use it. */
  async function end({ id, server }: McpSession): Promise<void> {
    sessions.delete(id);
    await server.close();
  }
}

async function answer(
  session: McpSession,
  { request, body, call }: SessionRequest,
  monotonic: () => number,
): Promise<Response> {
  const { transport, streams, fast } = session;
  const ids = listRequestIds(body);
  const waiting = new Set(ids);
  if (waiting.size < ids.length || ids.some((id) => streams.has(id))) {
    return respondWithError(400, INVALID_REQUEST, idIsOpen);
  }
  const { leaving, leave } = createLeaving();
  request.signal.addEventListener("abort", leave, { once: true });
  for (const id of ids) streams.set(id, { waiting, leave, call });
  session.open += 1;
  const onEnd = (hasLeft: boolean) => {
    session.open -= 1;
    session.usedAt = monotonic();
    for (const id of ids) streams.delete(id);
    // A broken stream cannot be resumed, so no one would read the responses.
    if (hasLeft || request.signal.aborted) ids.forEach((id) => cancel(session, id));
  };
  const handle = async () => {
    if (call !== undefined && ids.length > 0) {
      if (!(await call.begin(leaving))) return leaving.aborted ? endUnheard() : refuseCalls();
    }
    const reading = fast.find(body, request);
    const answered = reading && (await answerFast(reading, session.id, leaving));
    if (answered !== undefined) return answered;
    if (leaving.aborted) return endUnheard();
    return transport.handleRequest(request, { parsedBody: body });
  };
  const response = await answerUntilEnd(handle, onEnd, leaving);
  // The SDK has handled these cancellations and does not answer the requests.
  for (const message of [body].flat()) giveUp(session, readCancelled(message));
  return response;
}

/** Frees the places of a call while it waits for a person's answer. */
function leavePlaceWhenAsking({ transport, streams }: McpSession): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const isQuestion = "method" in message && "id" in message;
    const asking = isQuestion ? options?.relatedRequestId : undefined;
    if (asking !== undefined) streams.get(asking)?.call?.rest();
    return send(message, options);
  };
}

/** Ends a response if all its requests are cancelled. Otherwise their ids would stay in use. */
function giveUp({ streams }: McpSession, id: RpcId | undefined): void {
  const stream = id === undefined ? undefined : streams.get(id);
  if (id === undefined || stream === undefined) return;
  stream.waiting.delete(id);
  if (stream.waiting.size === 0) stream.leave();
}

/** An empty stream, which is what the transport sends if a request gets no response. */
function endUnheard(): Response {
  return new Response("", { headers: { "content-type": "text/event-stream" } });
}

function cancel({ transport }: McpSession, requestId: RpcId): void {
  const params = { requestId };
  transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
}
