import {
  hostHeaderValidationResponse,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isLegacyRequest,
  originValidationResponse,
  PARSE_ERROR,
} from "@modelcontextprotocol/server";
import type { Clock, SetAlarm } from "../../contract/clock.ts";
import type { CallerSignal } from "../../contract/waiting.ts";
import { messages } from "../../contract/messages.ts";
import { Problem } from "../../contract/problem.ts";
import { readAtMost, readLength, type Incoming, type WithBody } from "../../network/read-body.ts";
import { readBearer, isClientToken } from "../../text/secrets.ts";
import { describeFault } from "../results/tool-failure.ts";
import { createCallLimits, slot_bytes, type CallLimits, type OpenCall } from "./call-limits.ts";
import {
  createConnections,
  type ConnectionOptions,
  type Connections,
  type IdentifiedCaller,
  type KeyConnections,
} from "./key-connections.ts";
import { isHandshake, isListen, listRequestIds, messageBytes } from "./messages.ts";
import {
  REFUSED,
  refuseCalls,
  refuseForNow,
  refuseFull,
  refuseStopping,
  respondWithError,
} from "./refusals.ts";
import { answerUntilEnd } from "./response-end.ts";
import { createSessions, type McpSessions } from "./sessions.ts";

/**
 * Serves MCP over HTTP. Authenticates callers, and detects the protocol revision of each request.
 */
export type McpHttp = {
  readonly fetch: (request: Request, address?: string, incoming?: Incoming) => Promise<Response>;
  readonly measure: () => ConnectionMeasures;
  /** Ends all notification streams and accepts no new ones. Calls still work. */
  readonly endListening: () => void;
  /** Closes all sessions and connections. Later requests are rejected. */
  readonly close: () => Promise<void>;
};

type ConnectionMeasures = Readonly<Record<"sessions" | "streams" | "calls", number>>;

type HttpOptions = ConnectionOptions & {
  /**
   * Returns the caller with this bearer token, or undefined if the token is unknown. Throws a
   * `Problem` if the database is unavailable.
   */
  readonly identify: (token: string) => Promise<IdentifiedCaller | undefined>;
  /**
   * The host names of this server. Requests for other names are rejected, to prevent DNS rebinding.
   */
  readonly hostnames: readonly string[];
  readonly clock: Clock;
  readonly setAlarm: SetAlarm;
  /** Logs an unexpected error and returns its reference. */
  readonly report: (error: unknown) => string;
};

export function createMcpHttp(options: HttpOptions): McpHttp {
  const { identify, report, setAlarm } = options;
  const hostnames = [...options.hostnames];
  const limits = createCallLimits(setAlarm);
  const sessions = createSessions(options.clock);
  const connections = createConnections({ ...options, sessions, limits });
  const parts = { limits, sessions, connections };
  let isClosed = false;

  return {
    fetch: async (request, _address, incoming) => {
      try {
        const response = await admit(request, incoming);
        // The HTTP server sets this header itself, to close connections when it stops.
        response.headers.delete("connection");
        return response;
      } catch (error) {
        if (error instanceof Problem) return refuseForNow(error.message);
        return respondWithError(500, INTERNAL_ERROR, describeFault(report(error)));
      }
    },
    measure: () => ({
      sessions: sessions.count(),
      streams: connections.countListeners(),
      calls: limits.count(),
    }),
    endListening: connections.endListening,
    close: async () => {
      connections.endListening();
      isClosed = true;
      await Promise.all([sessions.close(), connections.close()]);
    },
  };

  /** Reads the body only after the caller is authenticated. */
  async function admit(request: Request, incoming: Incoming | undefined): Promise<Response> {
    const refusal =
      hostHeaderValidationResponse(request, hostnames) ??
      originValidationResponse(request, hostnames);
    if (refusal !== undefined) return refusal;
    const token = readBearer(request.headers.get("authorization"));
    const caller = token === undefined ? undefined : await identify(token);
    if (caller === undefined) return refuseToken(token);
    if (isClosed) return refuseStopping();
    const key = connections.find(caller);
    if (request.method === "POST") return receive(request, incoming, key, parts);
    const answer = () => sessions.fetch({ owner: key, request });
    return request.method === "GET" ? connections.listen(key, answer) : answer();
  }
}

type IdentifiedRequest = {
  readonly request: Request;
  readonly key: KeyConnections;
  readonly call: OpenCall;
};

type HttpParts = {
  readonly limits: CallLimits;
  readonly sessions: McpSessions;
  readonly connections: Connections;
};

async function receive(
  request: Request,
  incoming: Incoming | undefined,
  key: KeyConnections,
  parts: HttpParts,
): Promise<Response> {
  const call = parts.limits.open(key.key_print);
  if (call === undefined) return refuseCalls();
  return answerUntilEnd(async () => {
    const read = await readMessage(incoming ?? request, request.signal, call);
    return read instanceof Response ? read : answer(read, { request, key, call }, parts);
  }, call.end);
}

async function answer(
  { body, bytes }: ParsedMessage,
  { request, key, call }: IdentifiedRequest,
  { sessions, connections }: HttpParts,
): Promise<Response> {
  // A message that opens a session or a stream stays in memory until the session or stream ends.
  if (bytes > slot_bytes && (isListen(body) || isHandshake(body))) {
    return refuseTooLong("A message that opens a session or a stream may have 64 KiB.");
  }
  if (await isLegacyRequest(request, body)) {
    return sessions.fetch({ owner: key, request, body, call });
  }
  const answerModern = () => key.modern.fetch(request, { parsedBody: body });
  if (isListen(body)) {
    call.end();
    return connections.canListen(key) ? connections.listen(key, answerModern) : refuseFull(body);
  }
  const hasToWait = listRequestIds(body).length > 0;
  if (hasToWait && !(await call.begin(request.signal))) return refuseCalls();
  return answerModern();
}

type ParsedMessage = { readonly body: unknown; readonly bytes: number };

const decoder = new TextDecoder();

/**
 * Reads and parses the body. A long message is read to the end only after slots are free for it.
 * Until then, the rest stays unread in the socket.
 */
async function readMessage(
  message: WithBody,
  signal: CallerSignal,
  call: OpenCall,
): Promise<ParsedMessage | Response> {
  const length = Number(readLength(message) ?? messageBytes);
  let hasStarted: boolean | undefined;
  const until = async () => (hasStarted = await call.begin(signal, length));
  try {
    const read = await readAtMost(message, messageBytes, { after: slot_bytes, until });
    if (hasStarted === false) return refuseCalls();
    if (read === undefined) return refuseTooLong("The body is longer than 4 MiB.");
    // Without a declared length, the message reserved the maximum number of slots.
    if (hasStarted === true) call.shrink(read.length);
    return { body: JSON.parse(decoder.decode(read)), bytes: read.length };
  } catch {
    return respondWithError(400, PARSE_ERROR, "The body is not JSON.");
  }
}

function refuseTooLong(message: string): Response {
  return respondWithError(413, INVALID_REQUEST, message);
}

function refuseToken(token: string | undefined): Response {
  if (token === undefined) {
    const missing = "A token is missing. Send it in the header Authorization: Bearer <token>.";
    return respondWithError(401, REFUSED, missing, { "www-authenticate": "Bearer" });
  }
  const challenge = { "www-authenticate": 'Bearer error="invalid_token"' };
  const refused = isClientToken(token)
    ? messages.client_key_here
    : "This server does not accept the token.";
  return respondWithError(401, REFUSED, refused, challenge);
}
