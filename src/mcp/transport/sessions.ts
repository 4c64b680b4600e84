import { randomUUID } from "node:crypto";
import {
  INVALID_REQUEST,
  WebStandardStreamableHTTPServerTransport,
  type Server,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import { createLeaving } from "../../contract/leaving.ts";
import type { OpenCall } from "./call-limits.ts";
import { answerFast, type FastCalls } from "./fast-path/fast-calls.ts";
import { idIsOpen, isHandshake, listRequestIds, readCancelled, type Id } from "./messages.ts";
import { refuseCalls, refuseFull, refuseUnknownSession, respondWithError } from "./refusals.ts";
import { answerUntilEnd } from "./response-end.ts";

/** Sessions of the protocol's earlier revisions. No key finds those of another key. */
export type Sessions = {
  readonly fetch: (request: SessionRequest) => Promise<Response>;
  /** Reports to every client of the key that the list of tools has changed. */
  readonly notifyToolsChanged: (key_print: string) => void;
  /** How many there are, of all keys or of one. */
  readonly count: (key_print?: string) => number;
  readonly close: () => Promise<void>;
};

type SessionRequest = {
  readonly owner: SessionOwner;
  readonly request: Request;
  /** Read and parsed; undefined where the request has none. */
  readonly body?: unknown;
  /** Of a message that has to wait for its place. */
  readonly call?: OpenCall | undefined;
};

/** A key, and the server of a new session. */
export type SessionOwner = {
  readonly key_print: string;
  readonly openServer: () => { readonly server: Server; readonly fast: FastCalls };
};

type Session = {
  readonly id: string;
  readonly owner: SessionOwner;
  readonly server: Server;
  readonly fast: FastCalls;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** What is being answered, by the ids of its requests. */
  readonly streams: Map<Id, Stream>;
  /** Answers that have not ended: the client listens, or waits for a call. */
  open: number;
  /** By the monotonic clock. */
  usedAt: number;
};

type Stream = {
  /** Its requests that nobody has given up. */
  readonly waiting: Set<Id>;
  /** Ends it. */
  readonly leave: () => void;
  readonly call: OpenCall | undefined;
};

/** Measured: 20 KB each, 50 KB with a client that listens. */
const most = 2500;
/** The users of a gateway share one key. */
const mostOfKey = 1250;
const idle_ms = 30 * 60_000;
/** What was not used for so long ends where there is no room: its client begins anew by itself. */
const idleWhenFull_ms = 5 * 60_000;

export function createSessions({ monotonic }: Pick<Clock, "monotonic">): Sessions {
  const sessions = new Map<string, Session>();
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
        // The session of a client that has gone away is ended when it has been idle.
        server.sendToolListChanged().catch(() => undefined);
      }
    },
    count: (key_print) => {
      endIdle(sessions.values(), idle_ms);
      return key_print === undefined ? sessions.size : listOf(key_print).length;
    },
    close: async () => void (await Promise.all([...sessions.values()].map(end))),
  };

  /** Only a handshake opens a session; the transport refuses everything else by itself. */
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

  /** Answers how many of them it has ended. */
  function endIdle(some: Iterable<Session>, most_ms: number): number {
    const before = monotonic() - most_ms;
    const idle = [...some].filter(({ open, usedAt }) => open === 0 && usedAt < before);
    for (const session of idle) void end(session);
    return idle.length;
  }

  /** Nobody finds it any more by the time at which this returns. */
  async function end({ id, server }: Session): Promise<void> {
    sessions.delete(id);
    await server.close();
  }
}

async function answer(
  session: Session,
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
    // A stream that broke off is never resumed here, so nobody would ever read the answers.
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
  // The SDK has read it by now, and answers none of these requests.
  for (const message of [body].flat()) giveUp(session, readCancelled(message));
  return response;
}

/** A call that asks its client, and so a person, takes nobody's place meanwhile. */
function leavePlaceWhenAsking({ transport, streams }: Session): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const isQuestion = "method" in message && "id" in message;
    const asking = isQuestion ? options?.relatedRequestId : undefined;
    if (asking !== undefined) streams.get(asking)?.call?.rest();
    return send(message, options);
  };
}

/** Ends a stream over which nothing will be answered: its ids would be taken until then. */
function giveUp({ streams }: Session, id: Id | undefined): void {
  const stream = id === undefined ? undefined : streams.get(id);
  if (id === undefined || stream === undefined) return;
  stream.waiting.delete(id);
  if (stream.waiting.size === 0) stream.leave();
}

/** As the transport ends a stream. */
function endUnheard(): Response {
  return new Response("", { headers: { "content-type": "text/event-stream" } });
}

function cancel({ transport }: Session, requestId: Id): void {
  const params = { requestId };
  transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
}
