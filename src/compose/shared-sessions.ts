import { getRequestListener } from "@hono/node-server";
import { randomBytes, randomUUID } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { request as openRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { findClientAddress, readArrival } from "../network/client-address.ts";
import { createTrust, type TrustedProxies } from "../network/trusted-proxies.ts";
import { readCode } from "./data-folder.ts";
import { closeHttpServer, createHttpServer, type McpCarrier } from "./http-server.ts";
import { useAddress } from "./socket-address.ts";

/**
 * A session of the protocol's earlier revisions lives in one process. What comes for it to another
 * process of the data folder is handed on, over a socket in the folder, as it came: whoever asks
 * is looked at where the session is.
 */
export type SharedSessions = {
  /** The id of a new session of this process. */
  readonly createId: () => string;
  /** The way in from outside: it answers here, or hands on. */
  readonly share: (mcp: McpCarrier) => McpCarrier;
  /** Ends what listens to a session elsewhere; resolves when what is asked of here is answered. */
  readonly close: (most_ms: number) => Promise<void>;
};

type Options = {
  readonly data: string;
  readonly trustedProxies: TrustedProxies | undefined;
  readonly report: (error: unknown) => unknown;
};

/** The process, and what nobody can guess. */
const idPattern = /^([0-9a-f]{16})\.[0-9a-f-]{36}$/;
const socketPattern = /^session-[0-9a-f]{16}\.sock$/;
/** Who is at the other end of the connection that a request came by. */
const peerHeader = "waypost-peer";
/** These are about one connection, and not about what it carries. */
const ofConnection = new Set(["connection", "keep-alive", "transfer-encoding"]);

export function createSharedSessions(options: Options): SharedSessions {
  const { data, trustedProxies, report } = options;
  const own = randomBytes(8).toString("hex");
  const server = createHttpServer();
  const listening = new Set<ServerResponse>();
  let isOpen = false;

  return {
    createId: () => {
      if (!isOpen) open();
      return `${own}.${randomUUID()}`;
    },
    share: (mcp) => {
      const trusts = createTrust(trustedProxies);
      const readAddress = ({ headers }: Pick<IncomingMessage, "headers">) => {
        return findClientAddress(readArrival(headers[peerHeader]?.toString(), headers), trusts);
      };
      const answerAny = getRequestListener((request, { incoming }) =>
        mcp.fetch(request, readAddress(incoming), incoming),
      );
      server.answer = (request, response) => {
        server.unused.delete(request.socket);
        const passOn = () => void answerAny(request, response);
        void mcp.answer(request, response, passOn, readAddress(request));
      };
      return {
        fetch: mcp.fetch,
        answer: async (request, response, passOn, address) => {
          const owner = findOwner(request);
          const isElsewhere = owner !== undefined && owner !== own;
          const socket = isElsewhere ? await reach(nameSocket(data, owner), report) : undefined;
          // Of a session whose process has ended nobody knows here either, and so it is told.
          const answerHere = () => mcp.answer(request, response, passOn, address);
          if (socket === undefined) return answerHere();
          if (request.method === "GET") listening.add(response);
          response.once("close", () => listening.delete(response));
          handOn(socket, request, response, () => void answerHere());
        },
      };
    },
    close: async (most_ms) => {
      for (const response of listening) response.end();
      if (!isOpen) return;
      await closeHttpServer(server, { most_ms });
      // Node removes what it was told as the address, and that may have been another name.
      rmSync(nameSocket(data, own), { force: true });
    },
  };

  /** With the first session, for most clients have none. Bound when it returns. */
  function open(): void {
    isOpen = true;
    // Then a session is known to its own process alone.
    server.on("error", report);
    try {
      removeLeftovers(data);
      useAddress(nameSocket(data, own), (path) => server.listen({ path, exclusive: true }));
    } catch (error) {
      report(error);
    }
  }
}

function nameSocket(data: string, owner: string): string {
  return join(data, `session-${owner}.sock`);
}

/** The process that an id names, which any stranger may have written. */
function findOwner({ headers }: IncomingMessage): string | undefined {
  return idPattern.exec(headers["mcp-session-id"]?.toString() ?? "")?.[1];
}

/** Undefined where nobody listens any more. */
async function reach(path: string, report: Options["report"]): Promise<Socket | undefined> {
  try {
    const socket = useAddress(path, connect);
    return await new Promise((resolve) => {
      socket.once("error", () => resolve(undefined));
      socket.once("connect", () => resolve(socket));
    });
  } catch (error) {
    report(error);
    return undefined;
  }
}

/**
 * Where one side breaks off the other one does, too: whether a call was done is not known. One that
 * has not said that it takes the call was sent nothing of it: it is just ending.
 */
function handOn(
  socket: Socket,
  request: IncomingMessage,
  response: ServerResponse,
  answerHere: () => void,
): void {
  const { method, url, headers } = request;
  const handed = openRequest({
    createConnection: () => socket,
    method,
    path: url,
    // The other side is not to end it: it would, of one that is refused early, before the rest of
    // the call is there, and what it has answered could be lost.
    headers: {
      ...headers,
      connection: "keep-alive",
      expect: "100-continue",
      [peerHeader]: request.socket.remoteAddress ?? "",
    },
  });
  let [isTaken, isAnswered] = [false, false];
  handed.once("continue", () => {
    isTaken = true;
    request.pipe(handed);
  });
  handed.once("response", (answer) => {
    isAnswered = true;
    response.writeHead(answer.statusCode ?? 502, keepOfContent(answer.rawHeaders));
    response.flushHeaders();
    answer.once("close", () => {
      // The rest of a call that was answered early is read by nobody, and the client asks again
      // behind it. Nothing is asked over the other connection again.
      request.unpipe(handed).resume();
      handed.destroy();
      if (!answer.complete) response.destroy();
    });
    answer.pipe(response);
  });
  handed.on("error", () => {
    if (isAnswered) return;
    if (isTaken || response.closed) response.destroy();
    else answerHere();
  });
  response.once("close", () => handed.destroy());
}

function keepOfContent(raw: readonly string[]): string[] {
  return raw.filter((_, at) => !ofConnection.has((raw[at - (at % 2)] ?? "").toLowerCase()));
}

/** A process that was killed has left its socket. */
function removeLeftovers(data: string): void {
  for (const name of readdirSync(data).filter((each) => socketPattern.test(each))) {
    const path = join(data, name);
    const socket = useAddress(path, connect);
    socket.once("connect", () => socket.destroy());
    socket.once("error", (error) => {
      if (readCode(error) === "ECONNREFUSED") rmSync(path, { force: true });
    });
  }
}
