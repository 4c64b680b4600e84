import {
  WebStandardStreamableHTTPServerTransport,
  type Server,
} from "@modelcontextprotocol/server";
import { randomUUID } from "node:crypto";
import type { Clock } from "../contract/world.ts";

/**
 * Sessions of the protocol's earlier revisions, all of one key: whoever shows another key does
 * not find them here.
 */
export type Sessions = {
  readonly fetch: (request: Request) => Promise<Response>;
  /** Tells every client that the list of tools is another one. */
  readonly notifyToolsChanged: () => void;
  readonly count: () => number;
  readonly close: () => Promise<void>;
};

type Session = {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAt: number;
  /** Requests that are not over: a client that listens is there. */
  open: number;
};

const mostSessions = 100;
const idle_ms = 30 * 60_000;
const header = "mcp-session-id";

export function createSessions(
  createServer: () => Server,
  { monotonic }: Pick<Clock, "monotonic">,
): Sessions {
  const sessions = new Map<string, Session>();

  return {
    fetch: async (request) => {
      sweep();
      const id = request.headers.get(header);
      if (id === null) return open(request);
      const session = sessions.get(id);
      if (session === undefined) return refuseUnknown();
      return handle(session, request);
    },
    notifyToolsChanged: () => {
      for (const { server } of sessions.values()) {
        // A client that went away without a word is swept out later.
        server.sendToolListChanged().catch(() => undefined);
      }
    },
    count: () => sessions.size,
    close: async () => {
      await Promise.all([...sessions.keys()].map(end));
    },
  };

  /** Only a handshake opens a session; the transport refuses everything else by itself. */
  async function open(request: Request): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        makeRoom();
        sessions.set(id, session);
      },
      onsessionclosed: (id) => void end(id),
    });
    const server = createServer();
    const session: Session = { server, transport, usedAt: monotonic(), open: 0 };
    await server.connect(transport);
    const response = await handle(session, request);
    if (transport.sessionId === undefined) await server.close();
    return response;
  }

  function handle(session: Session, request: Request): Promise<Response> {
    session.usedAt = monotonic();
    if (request.method === "GET") {
      session.open += 1;
      request.signal.addEventListener("abort", () => (session.open -= 1), { once: true });
    }
    return session.transport.handleRequest(request);
  }

  function sweep(): void {
    const now = monotonic();
    for (const [id, { usedAt, open }] of sessions) {
      if (open === 0 && now - usedAt > idle_ms) void end(id);
    }
  }

  /** The one that was quiet for the longest time gives way. */
  function makeRoom(): void {
    if (sessions.size < mostSessions) return;
    const [oldest] = [...sessions].toSorted(([, one], [, other]) => one.usedAt - other.usedAt);
    if (oldest !== undefined) void end(oldest[0]);
  }

  async function end(id: string): Promise<void> {
    const session = sessions.get(id);
    sessions.delete(id);
    await session?.server.close();
  }
}

/** The status by which a client knows that it has to begin anew. */
function refuseUnknown(): Response {
  const error = { code: -32001, message: "Session not found" };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
}
