import { randomUUID } from "node:crypto";
import {
  WebStandardStreamableHTTPServerTransport,
  type Server,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import { answerUntilEnd } from "./response-end.ts";

/** Sessions of the protocol's earlier revisions, all of one key: no other key finds them here. */
export type Sessions = {
  /** The body is read and parsed already; undefined where the request has none. */
  readonly fetch: (request: Request, body: unknown) => Promise<Response>;
  /** Tells every client that the list of tools has changed. */
  readonly notifyToolsChanged: () => void;
  readonly count: () => number;
  readonly close: () => Promise<void>;
};

type Session = {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAt: number;
  /** Answers that have not ended: a client listens, or waits for a call. */
  open: number;
};

const mostSessions = 100;
const idle_ms = 30 * 60_000;
const header = "mcp-session-id";

type Monotonic = Pick<Clock, "monotonic">;

export function createSessions(createServer: () => Server, { monotonic }: Monotonic): Sessions {
  const sessions = new Map<string, Session>();

  return {
    fetch: async (request, body) => {
      endIdle();
      const id = request.headers.get(header);
      if (id === null) return open(request, body);
      const session = sessions.get(id);
      return session === undefined ? refuseUnknownSession() : answer(session, request, body);
    },
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
  async function open(request: Request, body: unknown): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        const quietest = sessions.size < mostSessions ? undefined : findQuietest(sessions);
        if (quietest !== undefined) void end(quietest);
        sessions.set(id, session);
      },
      onsessionclosed: (id) => void end(id),
    });
    const server = createServer();
    const session: Session = { server, transport, usedAt: monotonic(), open: 0 };
    await server.connect(transport);
    const response = await answer(session, request, body);
    if (transport.sessionId === undefined) await server.close();
    return response;
  }

  function answer(session: Session, request: Request, body: unknown): Promise<Response> {
    session.usedAt = monotonic();
    session.open += 1;
    const handleRequest = () => session.transport.handleRequest(request, { parsedBody: body });
    return answerUntilEnd(handleRequest, (hasLeft) => {
      session.usedAt = monotonic();
      session.open -= 1;
      if (hasLeft) cancelAll(session, body);
    });
  }

  function endIdle(): void {
    const now = monotonic();
    for (const [id, { usedAt, open }] of sessions) {
      if (open === 0 && now - usedAt > idle_ms) void end(id);
    }
  }

  async function end(id: string): Promise<void> {
    const session = sessions.get(id);
    sessions.delete(id);
    await session?.server.close();
  }
}

/**
 * A stream that broke off is never taken up again here, so that nobody would ever read what these
 * requests are answered with.
 */
function cancelAll({ transport }: Session, body: unknown): void {
  for (const message of [body].flat()) {
    if (typeof message !== "object" || message === null || !("id" in message)) continue;
    const { id } = message;
    if (typeof id !== "string" && typeof id !== "number") continue;
    const params = { requestId: id };
    transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  }
}

/** One whose client seems to be gone, else the one that was not used for the longest time. */
function findQuietest(sessions: ReadonlyMap<string, Session>): string | undefined {
  const [quietest] = [...sessions].toSorted(
    ([, one], [, other]) =>
      Math.sign(one.open) - Math.sign(other.open) || one.usedAt - other.usedAt,
  );
  return quietest?.[0];
}

/** The status by which a client knows that it has to begin anew. */
function refuseUnknownSession(): Response {
  const error = { code: -32001, message: "Session not found" };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
}
