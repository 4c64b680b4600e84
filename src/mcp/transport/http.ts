import {
  hostHeaderValidationResponse,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isLegacyRequest,
  originValidationResponse,
  PARSE_ERROR,
} from "@modelcontextprotocol/server";
import { findAddressGroup } from "../../network/ip-address.ts";
import { readAtMost, type Incoming } from "../../network/read-at-most.ts";
import { describeFault } from "../results/tool-failure.ts";
import type { InFlight } from "./in-flight.ts";
import {
  createConnections,
  type ConnectionMeasures,
  type ConnectionOptions,
  type IdentifiedCaller,
  type KeyConnections,
} from "./key-connections.ts";
import { messageBytes } from "./message-size.ts";
import { REFUSED, refuseForNow, refuseFull, respondWithError } from "./refusals.ts";
import { answerUntilEnd } from "./response-end.ts";
import { createSessionLimits } from "./session-limits.ts";

/** MCP over HTTP: whose request it is, and which revision of the protocol it speaks. */
export type McpHttp = {
  readonly fetch: (request: Request, address?: string, incoming?: Incoming) => Promise<Response>;
  readonly measure: () => ConnectionMeasures;
  /** Waits for calls that still run, so long at most, and ends what only listens. */
  readonly close: (timeout_ms: number) => Promise<void>;
};

export type HttpOptions = Omit<ConnectionOptions, "limits"> & {
  /** The caller that this bearer token belongs to, or undefined. */
  readonly identify: (token: string) => Promise<IdentifiedCaller | undefined>;
  /** The host names that this server answers to; a page elsewhere could name any other one. */
  readonly hostnames: readonly string[];
  /** Notes an unexpected error where the operator looks, and answers its reference. */
  readonly report: (error: unknown) => string;
};

/** Calls of one key at a time. One more is told to wait, and not queued. */
const mostCalls = 100;

export function createMcpHttp(options: HttpOptions): McpHttp {
  const { identify, report } = options;
  const hostnames = [...options.hostnames];
  const limits = createSessionLimits(options.clock);
  const connections = createConnections({ ...options, limits });
  let isClosed = false;

  return {
    fetch: async (request, address, incoming) => {
      try {
        return await admit(request, address, incoming);
      } catch (error) {
        return respondWithError(500, INTERNAL_ERROR, describeFault(report(error)));
      }
    },
    measure: connections.measure,
    close: async (timeout_ms) => {
      await connections.finish(timeout_ms);
      isClosed = true;
      await connections.close();
    },
  };

  /** Nothing of a request is read before it is known whose it is. */
  async function admit(
    request: Request,
    address: string | undefined,
    incoming: Incoming | undefined,
  ): Promise<Response> {
    const refusal =
      hostHeaderValidationResponse(request, hostnames) ??
      originValidationResponse(request, hostnames);
    if (refusal !== undefined) return refusal;
    const token = readBearer(request);
    const caller = token === undefined ? undefined : await identify(token);
    if (caller === undefined) return refuseToken(token);
    if (isClosed) return refuseForNow("Waypost is stopping.");
    const connected = connections.find(caller);
    // One user of a gateway is told from another by address alone.
    const client = `${connected.key_print} ${findAddressGroup(address ?? "")}`;
    if (request.method === "POST") return receive({ request, client, incoming }, connected);
    const { listeners, sessions } = connected;
    return track(listeners, () => sessions.fetch({ request, client, body: undefined, bytes: 0 }));
  }

  async function receive(
    { request, client, incoming }: Received,
    { calls, listeners, sessions, modern }: KeyConnections,
  ): Promise<Response> {
    if (calls.count() >= mostCalls) return refuseForNow("Too many calls at once.");
    const reading = {};
    calls.begin(reading);
    const read = await readMessage(request, incoming).finally(() => calls.end(reading));
    if (read instanceof Response) return read;
    const { body, bytes } = read;
    const answer = async () => {
      if (await isLegacyRequest(request, body)) {
        return sessions.fetch({ request, client, body, bytes });
      }
      return modern.fetch(request, { parsedBody: body });
    };
    if (!isListen(body)) return track(calls, answer);
    const place = limits.admitStream(client, bytes);
    if (place === undefined) return refuseFull();
    return answerUntilEnd(() => track(listeners, answer), place.release);
  }
}

type Received = {
  readonly request: Request;
  readonly client: string;
  readonly incoming: Incoming | undefined;
};

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
): Promise<{ readonly body: unknown; readonly bytes: number } | Response> {
  try {
    const read = await readAtMost(request, messageBytes, incoming);
    if (read !== undefined) return { body: JSON.parse(decoder.decode(read)), bytes: read.length };
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
