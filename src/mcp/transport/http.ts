import {
  hostHeaderValidationResponse,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isLegacyRequest,
  originValidationResponse,
  PARSE_ERROR,
} from "@modelcontextprotocol/server";
import { readAtMost, type Incoming } from "../../network/read-at-most.ts";
import { describeFault } from "../results/tool-failure.ts";
import type { InFlight } from "./in-flight.ts";
import {
  createConnections,
  type IdentifiedCaller,
  type ConnectionOptions,
} from "./key-connections.ts";
import { messageBytes } from "./message-size.ts";
import { answerUntilEnd } from "./response-end.ts";

/** MCP over HTTP: whose request it is, and which revision of the protocol it speaks. */
export type McpHttp = {
  readonly fetch: (request: Request, address?: string, incoming?: Incoming) => Promise<Response>;
  /** Waits for calls that still run, so long at most, and ends what only listens. */
  readonly close: (timeout_ms: number) => Promise<void>;
};

export type HttpOptions = ConnectionOptions & {
  /** The caller that this bearer token belongs to, or undefined. */
  readonly identify: (token: string) => Promise<IdentifiedCaller | undefined>;
  /** The host names that this server answers to; a page elsewhere could name any other one. */
  readonly hostnames: readonly string[];
  /** Notes an unexpected error where the operator looks, and answers its reference. */
  readonly report: (error: unknown) => string;
};

/** Calls of one key at a time. One more is told to wait, and not queued. */
const mostCalls = 100;

/** One of the codes that JSON-RPC leaves to servers. */
const REFUSED = -32001;

export function createMcpHttp(options: HttpOptions): McpHttp {
  const { identify, report } = options;
  const hostnames = [...options.hostnames];
  const connections = createConnections(options);
  let isClosed = false;

  return {
    fetch: async (request, _, incoming) => {
      try {
        return await admit(request, incoming);
      } catch (error) {
        return respondWithError(500, INTERNAL_ERROR, describeFault(report(error)));
      }
    },
    close: async (timeout_ms) => {
      await connections.finish(timeout_ms);
      isClosed = true;
      await connections.close();
    },
  };

  /** Nothing of a request is read before it is known whose it is. */
  async function admit(request: Request, incoming?: Incoming): Promise<Response> {
    const refusal =
      hostHeaderValidationResponse(request, hostnames) ??
      originValidationResponse(request, hostnames);
    if (refusal !== undefined) return refusal;
    const token = readBearer(request);
    const caller = token === undefined ? undefined : await identify(token);
    if (caller === undefined) return refuseToken(token);
    if (isClosed) return refuseForNow("Waypost is stopping.");
    if (request.method === "POST") return receive(request, caller, incoming);
    const { listeners, sessions } = connections.find(caller);
    return track(listeners, () => sessions.fetch(request, undefined));
  }

  async function receive(
    request: Request,
    caller: IdentifiedCaller,
    incoming?: Incoming,
  ): Promise<Response> {
    const { calls, listeners, sessions, modern } = connections.find(caller);
    if (calls.count() >= mostCalls) return refuseForNow("Too many calls at once.");
    const reading = {};
    calls.begin(reading);
    const read = await readMessage(request, incoming).finally(() => calls.end(reading));
    if (read instanceof Response) return read;
    const { body } = read;
    return track(isListen(body) ? listeners : calls, async () => {
      if (await isLegacyRequest(request, body)) return sessions.fetch(request, body);
      return modern.fetch(request, { parsedBody: body });
    });
  }
}

/** A stream of notifications is not answered before it ends. */
function isListen(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return false;
  return "method" in body && body.method === "subscriptions/listen";
}

/** Counts an exchange until its answer has ended. */
function track(running: InFlight<object>, answer: () => Promise<Response>): Promise<Response> {
  const exchange = {};
  running.begin(exchange);
  return answerUntilEnd(answer, () => running.end(exchange));
}

const decoder = new TextDecoder();

/** The body is read and parsed here alone, for all that look at it afterwards. */
async function readMessage(
  request: Request,
  incoming?: Incoming,
): Promise<{ readonly body: unknown } | Response> {
  try {
    const bytes = await readAtMost(request, messageBytes, incoming);
    if (bytes !== undefined) return { body: JSON.parse(decoder.decode(bytes)) };
    return respondWithError(413, INVALID_REQUEST, "The body is longer than 4 MiB.");
  } catch {
    return respondWithError(400, PARSE_ERROR, "The body is not JSON.");
  }
}

function readBearer({ headers }: Request): string | undefined {
  const [, token] = /^bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "") ?? [];
  return token;
}

function refuseToken(token: string | undefined): Response {
  const [message, challenge] =
    token === undefined
      ? ["A token is missing. Send it in the header Authorization: Bearer <token>.", "Bearer"]
      : ["The token is not known here.", 'Bearer error="invalid_token"'];
  return respondWithError(401, REFUSED, message, { "www-authenticate": challenge });
}

function refuseForNow(message: string): Response {
  return respondWithError(503, REFUSED, message, { "retry-after": "1" });
}

function respondWithError(
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const answer = { jsonrpc: "2.0", id: null, error: { code, message } };
  return Response.json(answer, { status, headers: { ...headers, "cache-control": "no-store" } });
}
