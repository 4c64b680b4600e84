import { randomUUID } from "node:crypto";
import {
  INVALID_REQUEST,
  WebStandardStreamableHTTPServerTransport,
  type Server,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import { isJsonObject } from "../../contract/json.ts";
import {
  readCancelled,
  trackDirect,
  type DirectCalls,
  type DirectWay,
  type Turn,
} from "./direct-calls.ts";
import { noPlace, type Place } from "./line.ts";
import { idIsOpen, isId, listRequestIds, trackOpenIds, type Id } from "./open-ids.ts";
import { refuseFull, refuseUnknownSession, respondWithError } from "./refusals.ts";
import { answerUntilEnd } from "./response-end.ts";
import { countBytes, type Kept, type SessionLimits } from "./session-limits.ts";

/** Sessions of the protocol's earlier revisions, all of one key: no other key finds them here. */
export type Sessions = {
  readonly fetch: (asked: Asked) => Promise<Response>;
  readonly has: (id: string) => boolean;
  /** For calls that need not go through the session's server. */
  readonly findDirect: (id: string) => DirectWay | undefined;
  /** Tells every client that the list of tools has changed. */
  readonly notifyToolsChanged: () => void;
  readonly count: () => number;
  readonly close: () => Promise<void>;
};

type Asked = {
  readonly request: Request;
  /** Read and parsed already; undefined where the request has none. */
  readonly body: unknown;
  /** The body's length. */
  readonly bytes: number;
  /** Who counts as one where it comes to limits. */
  readonly client: string;
  /** For what is worked on; undefined where it has to wait for nobody. */
  readonly turn?: Turn | undefined;
  /** Called as it asks its client, and so a person, who takes long. */
  readonly onAsking?: (() => void) | undefined;
};

type Session = {
  readonly kept: Kept;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly use: Use;
  readonly direct: DirectWay;
  /** Streams that are open, by the ids of what is still to be answered over them. */
  readonly streams: Map<Id, Stream>;
};

type Stream = {
  readonly waiting: Set<Id>;
  readonly givenUp: AbortController;
  readonly onAsking: () => void;
  /** Undefined while it waits for its turn. */
  place: Place | undefined;
};

type Use = Pick<Kept, "unusedSince"> & {
  readonly begin: () => void;
  readonly end: () => void;
};

/** A server of one session, and the calls that go past it. */
export type SessionServer = { readonly server: Server; readonly direct: DirectCalls };

type Options = {
  readonly clock: Pick<Clock, "monotonic">;
  readonly limits: SessionLimits;
};

const idle_ms = 30 * 60_000;
/** To look at all sessions is not for every call. */
const lookEvery_ms = 60_000;
const header = "mcp-session-id";

export function createSessions(createServer: () => SessionServer, options: Options): Sessions {
  const { clock, limits } = options;
  const sessions = new Map<string, Session>();
  let lookedAt = clock.monotonic();

  return {
    fetch: async (asked) => {
      if (clock.monotonic() - lookedAt > lookEvery_ms) endIdle();
      const id = asked.request.headers.get(header);
      if (id === null) return open(asked);
      const session = sessions.get(id);
      return session === undefined ? refuseUnknownSession() : answer(session, asked);
    },
    has: (id) => sessions.has(id),
    findDirect: (id) => sessions.get(id)?.direct,
    notifyToolsChanged: () => {
      for (const { server } of sessions.values()) {
        // The session of a client that has gone away is ended when it has been idle.
        server.sendToolListChanged().catch(() => undefined);
      }
    },
    count: () => {
      endIdle();
      return sessions.size;
    },
    close: async () => {
      await Promise.all([...sessions.keys()].map(end));
    },
  };

  /** Only a handshake opens a session; the transport refuses everything else by itself. */
  async function open(asked: Asked): Promise<Response> {
    const id = randomUUID();
    const use = trackUse(clock);
    const kept: Kept = {
      client: asked.client,
      bytes: countBytes(asked.bytes),
      unusedSince: use.unusedSince,
      end: () => void end(id),
    };
    if (isHandshake(asked.body) && !limits.admit(kept)) return refuseFull(asked.body);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => void sessions.set(id, session),
      onsessionclosed: () => void end(id),
    });
    const session = createSession(id, createServer(), { kept, transport, use });
    try {
      await session.server.connect(transport);
      return await answer(session, asked);
    } finally {
      if (transport.sessionId === undefined) await release(session, limits);
    }
  }

  function endIdle(): void {
    const now = clock.monotonic();
    lookedAt = now;
    for (const [id, { use }] of sessions) {
      if (now - (use.unusedSince() ?? now) > idle_ms) void end(id);
    }
  }

  async function end(id: string): Promise<void> {
    const session = sessions.get(id);
    sessions.delete(id);
    if (session !== undefined) await release(session, limits);
  }
}

function createSession(
  id: string,
  { server, direct }: SessionServer,
  parts: Pick<Session, "kept" | "transport" | "use">,
): Session {
  const { use } = parts;
  const way = { session: id, calls: trackDirect(direct), ids: trackOpenIds(), use };
  const session = { ...parts, streams: new Map<Id, Stream>(), server, direct: way };
  makeWayOnAsking(session);
  return session;
}

async function release(session: Session, limits: SessionLimits): Promise<void> {
  const { kept, server, direct } = session;
  limits.release(kept);
  direct.calls.cancelAll();
  await server.close();
}

/** A call that asks its client, and so a person, takes nobody's turn meanwhile. */
function makeWayOnAsking({ transport, streams }: Session): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const asks = "method" in message && "id" in message;
    const asking = asks ? options?.relatedRequestId : undefined;
    if (asking !== undefined) streams.get(asking)?.onAsking();
    return send(message, options);
  };
}

async function answer(
  session: Session,
  { request, body, turn, ...asked }: Asked,
): Promise<Response> {
  const { use, transport, direct, streams } = session;
  const ids = listRequestIds(body);
  if (!direct.ids.open(ids)) return respondWithError(400, INVALID_REQUEST, idIsOpen);
  use.begin();
  const givenUp = new AbortController();
  const onAsking = () => {
    stream.place?.leave();
    asked.onAsking?.();
  };
  const stream: Stream = { waiting: new Set(ids), givenUp, onAsking, place: undefined };
  for (const id of ids) streams.set(id, stream);
  const onEnd = (hasLeft: boolean) => {
    stream.place?.leave();
    use.end();
    direct.ids.close(ids);
    for (const id of ids) streams.delete(id);
    if (hasLeft) cancelAll(session, body);
  };
  for (const message of [body].flat()) direct.calls.hear(message);
  const handleRequest = async () => {
    const waitUntilLeft = () =>
      turn?.wait(AbortSignal.any([givenUp.signal, request.signal])) ?? noPlace;
    stream.place = turn?.enter() ?? (await waitUntilLeft());
    if (stream.place === undefined) return endUnheard();
    return transport.handleRequest(request, { parsedBody: leaveOut(body, ids, stream.waiting) });
  };
  const response = await answerUntilEnd(handleRequest, onEnd, givenUp.signal);
  // The SDK has heard of it by now, and answers none of them.
  for (const message of [body].flat()) giveUp(session, readCancelled(message));
  return response;
}

/** The SDK forgets what is given up before it has heard of it, and would carry it out. */
function leaveOut(body: unknown, ids: readonly Id[], waiting: ReadonlySet<Id>): unknown {
  if (waiting.size === ids.length || !Array.isArray(body)) return body;
  return body.filter((message) => listRequestIds(message).every((id) => waiting.has(id)));
}

/** As the transport ends what nobody waits for. */
function endUnheard(): Response {
  return new Response("", { headers: { "content-type": "text/event-stream" } });
}

/** Else the id would be taken for as long as its stream is open, and nothing would end that. */
function giveUp({ streams }: Session, id: Id | undefined): void {
  if (id === undefined) return;
  const stream = streams.get(id);
  if (stream === undefined) return;
  stream.waiting.delete(id);
  if (stream.waiting.size === 0) stream.givenUp.abort();
}

function trackUse({ monotonic }: Pick<Clock, "monotonic">): Use {
  let usedAt = monotonic();
  // Answers that have not ended: a client listens, or waits for a call.
  let open = 0;
  return {
    begin: () => {
      open += 1;
    },
    end: () => {
      usedAt = monotonic();
      open -= 1;
    },
    unusedSince: () => (open === 0 ? usedAt : undefined),
  };
}

/** A batch of one is one as well. */
function isHandshake(body: unknown): boolean {
  return [body].flat().some((one) => isJsonObject(one) && one["method"] === "initialize");
}

/**
 * A stream that broke off is never taken up again here, so that nobody would ever read what these
 * requests are answered with.
 */
function cancelAll({ transport }: Session, body: unknown): void {
  for (const message of [body].flat()) {
    if (typeof message !== "object" || message === null || !("id" in message)) continue;
    const { id } = message;
    if (!isId(id)) continue;
    const params = { requestId: id };
    transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  }
}
