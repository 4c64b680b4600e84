import {
  hostHeaderValidationResponse,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isLegacyRequest,
  originValidationResponse,
  PARSE_ERROR,
  readRequestBody,
} from "@modelcontextprotocol/server";
import { describeFault } from "../results/tool-failure.ts";
import type { InFlight } from "./in-flight.ts";
import {
  createConnections,
  type Caller,
  type KeyConnections,
  type ConnectionOptions,
} from "./key-connections.ts";
import { messageBytes } from "./message-size.ts";
import { onResponseEnd } from "./response-end.ts";

/** MCP over HTTP: whose request it is, and which revision of the protocol it speaks. */
export type McpHttp = {
  readonly fetch: (request: Request) => Promise<Response>;
  /** Ends what only listens; what runs may be answered as long as the patience lasts. */
  readonly close: (patience_ms: number) => Promise<void>;
};

export type HttpOptions = ConnectionOptions & {
  /** Who shows this bearer token, or undefined for nobody. */
  readonly identify: (token: string) => Promise<Caller | undefined>;
  /** The host names that this server answers to; a page elsewhere could name any other. */
  readonly hostnames: readonly string[];
  /** Notes an unexpected error where the operator looks, and answers its reference. */
  readonly report: (error: unknown) => string;
};

/** Calls of one key at a time. What comes on top is told to wait, and not queued. */
const mostCalls = 100;

/** Of the codes that JSON-RPC leaves to servers: this one is not admitted. */
const REFUSED = -32001;

export function createMcpHttp(options: HttpOptions): McpHttp {
  const { identify, report } = options;
  const hostnames = [...options.hostnames];
  const connections = createConnections(options);
  let isClosed = false;

  return {
    fetch: async (request) => {
      try {
        return await admit(request);
      } catch (error) {
        return refuse(500, INTERNAL_ERROR, describeFault(report(error)));
      }
    },
    close: async (patience_ms) => {
      await connections.finish(patience_ms);
      isClosed = true;
      await connections.close();
    },
  };

  /** Nothing is read of a request before it is known whose it is. */
  async function admit(request: Request): Promise<Response> {
    const refusal =
      hostHeaderValidationResponse(request, hostnames) ??
      originValidationResponse(request, hostnames);
    if (refusal !== undefined) return refusal;
    const token = readBearer(request);
    const caller = token === undefined ? undefined : await identify(token);
    if (caller === undefined) return refuseStranger(token !== undefined);
    if (isClosed) return refuseForNow("Waypost is stopping.");
    const door = connections.find(caller);
    if (request.method === "POST") return receive(door, request);
    return track(door.listeners, () => door.sessions.fetch(request, undefined));
  }
}

async function receive(door: KeyConnections, request: Request): Promise<Response> {
  if (door.calls.count() >= mostCalls) return refuseForNow("Too many calls at once.");
  const reading = {};
  door.calls.begin(reading);
  const read = await readMessage(request).finally(() => door.calls.end(reading));
  if (read instanceof Response) return read;
  const { body } = read;
  const running = isListen(body) ? door.listeners : door.calls;
  return track(running, async () => {
    if (await isLegacyRequest(request, body)) return door.sessions.fetch(request, body);
    return door.modern.fetch(request, { parsedBody: body });
  });
}

/** A stream of notifications: it has no answer before the end. */
function isListen(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return false;
  return "method" in body && body.method === "subscriptions/listen";
}

/** Counts an exchange from here until its answer is over. */
async function track(
  running: InFlight<object>,
  answer: () => Promise<Response>,
): Promise<Response> {
  const exchange = {};
  running.begin(exchange);
  const end = () => running.end(exchange);
  try {
    return onResponseEnd(await answer(), end);
  } catch (error) {
    end();
    throw error;
  }
}

/** The body is read and parsed here alone, however many look at it afterwards. */
async function readMessage(request: Request): Promise<{ readonly body: unknown } | Response> {
  try {
    const read = await readRequestBody(request, messageBytes);
    if (read.tooLarge) return refuse(413, INVALID_REQUEST, "The body is longer than 4 MiB.");
    return { body: JSON.parse(read.text) };
  } catch {
    return refuse(400, PARSE_ERROR, "The body is not JSON.");
  }
}

function readBearer({ headers }: Request): string | undefined {
  const [, token] = /^bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "") ?? [];
  return token;
}

function refuseStranger(hasToken: boolean): Response {
  const message = hasToken
    ? "The token is not known here."
    : "A token is missing. Send it in the header Authorization: Bearer <token>.";
  const challenge = hasToken ? 'Bearer error="invalid_token"' : "Bearer";
  return refuse(401, REFUSED, message, { "www-authenticate": challenge });
}

function refuseForNow(message: string): Response {
  return refuse(503, REFUSED, message, { "retry-after": "1" });
}

function refuse(
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json(
    { jsonrpc: "2.0", id: null, error: { code, message } },
    { status, headers: { ...headers, "cache-control": "no-store" } },
  );
}
