import { randomUUID } from "node:crypto";
import {
  INVALID_REQUEST,
  WebStandardStreamableHTTPServerTransport,
  type Server,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import { createCallerSignal } from "../../contract/waiting.ts";
import type { OpenCall } from "./call-limits.ts";
import { answerFast, type FastCalls } from "./fast-path/fast-calls.ts";
import { idIsOpen, isHandshake, listRequestIds, readCancelled, type RpcId } from "./messages.ts";
import { refuseCalls, refuseFull, refuseUnknownSession, respondWithError } from "./refusals.ts";
import { answerUntilEnd } from "./response-end.ts";

/**
 * Manages the sessions of clients with an MCP version before 2026-07-28. A key can use only its own
 * sessions.
 */
export type McpSessions = {
  readonly fetch: (request: SessionRequest) => Promise<Response>;
  readonly notifyToolsChanged: (key_print: string) => void;
  /** The number of open sessions, in total or of one key. */
  readonly count: (key_print?: string) => number;
  readonly close: () => Promise<void>;
};

type SessionRequest = {
  readonly owner: SessionOwner;
  readonly request: Request;
  /** The parsed body; undefined for a request without one. */
  readonly body?: unknown;
  /** Set for a POST, which may have to wait for a slot. */
  readonly call?: OpenCall | undefined;
};

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
  /** The running messages by the IDs of their requests. All requests of a batch share one entry. */
  readonly streams: Map<RpcId, RunningMessage>;
  /** The number of responses that have not ended. */
  open: number;
  /** When the last response ended, on the monotonic clock. */
  usedAt: number;
};

type RunningMessage = {
  /** The IDs of the message's requests that the client has not cancelled. */
  readonly waiting: Set<RpcId>;
  readonly leave: () => void;
  readonly call: OpenCall | undefined;
};

/** A session needs 20 KB of memory, or 50 KB while its client has a notification stream open. */
const mostSessions = 2500;
/** The limit per key is high, because all users behind a gateway share one key. */
const mostPerKey = 1250;
const idle_ms = 30 * 60_000;
/**
 * When the limit is reached, sessions idle for this long are closed. Their clients reconnect
 * automatically.
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
        // A disconnected client cannot be notified. Its session is closed after the idle time.
        server.sendToolListChanged().catch(() => undefined);
      }
    },
    count: (key_print) => {
      endIdle(sessions.values(), idle_ms);
      return key_print === undefined ? sessions.size : listOf(key_print).length;
    },
    close: async () => void (await Promise.all([...sessions.values()].map(end))),
  };

  /** Only `initialize` opens a session. The transport rejects other requests without one. */
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
    releaseSlotsWhileAsking(session);
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
    if (ofKey.length >= mostPerKey) return endIdle(ofKey, idleWhenFull_ms) > 0;
    return sessions.size < mostSessions || endIdle(sessions.values(), idleWhenFull_ms) > 0;
  }

  function endIdle(some: Iterable<McpSession>, most_ms: number): number {
    const before = monotonic() - most_ms;
    const idle = [...some].filter(({ open, usedAt }) => open === 0 && usedAt < before);
    for (const session of idle) void end(session);
    return idle.length;
  }

  /** Removes the session synchronously, so that no new request can use it. */
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
  const { signal, leave } = createCallerSignal();
  request.signal.addEventListener("abort", leave, { once: true });
  for (const id of ids) streams.set(id, { waiting, leave, call });
  session.open += 1;
  const onEnd = (hasLeft: boolean) => {
    session.open -= 1;
    session.usedAt = monotonic();
    for (const id of ids) streams.delete(id);
    // A broken stream cannot be resumed, so its requests are cancelled.
    if (hasLeft || request.signal.aborted) ids.forEach((id) => cancel(session, id));
  };
  const handle = async () => {
    if (call !== undefined && ids.length > 0) {
      if (!(await call.begin(signal))) return signal.aborted ? respondEmpty() : refuseCalls();
    }
    const reading = fast.find(body, request);
    const answered = reading && (await answerFast(reading, session.id, signal));
    if (answered !== undefined) return answered;
    if (signal.aborted) return respondEmpty();
    return transport.handleRequest(request, { parsedBody: body });
  };
  const response = await answerUntilEnd(handle, onEnd, signal);
  // The SDK never responds to a cancelled request, so the response is ended here.
  for (const message of [body].flat()) endIfCancelled(session, readCancelled(message));
  return response;
}

function releaseSlotsWhileAsking({ transport, streams }: McpSession): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const isQuestion = "method" in message && "id" in message;
    const asking = isQuestion ? options?.relatedRequestId : undefined;
    if (asking !== undefined) streams.get(asking)?.call?.releaseSlots();
    return send(message, options);
  };
}

/** Ends a response once all its requests are cancelled. Otherwise their IDs would stay in use. */
function endIfCancelled({ streams }: McpSession, id: RpcId | undefined): void {
  const stream = id === undefined ? undefined : streams.get(id);
  if (id === undefined || stream === undefined) return;
  stream.waiting.delete(id);
  if (stream.waiting.size === 0) stream.leave();
}

/** Returns an empty stream, as the transport does for a request without a response. */
function respondEmpty(): Response {
  return new Response("", { headers: { "content-type": "text/event-stream" } });
}

function cancel({ transport }: McpSession, requestId: RpcId): void {
  const params = { requestId };
  transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
}
