import {
  hostHeaderValidationResponse,
  INTERNAL_ERROR,
  isLegacyRequest,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Problem } from "../../contract/problem.ts";
import { findAddressGroup } from "../../network/ip-address.ts";
import type { Incoming } from "../../network/read-at-most.ts";
import { readBearer } from "../../text/bearer-token.ts";
import { describeFault } from "../results/tool-failure.ts";
import { createDirectHttp, type AnswerOptions, type DirectHttp } from "./direct-http.ts";
import type { InFlight } from "./in-flight.ts";
import {
  createConnections,
  type ConnectionMeasures,
  type ConnectionOptions,
  type IdentifiedCaller,
  type KeyConnections,
} from "./key-connections.ts";
import { readMessage } from "./read-message.ts";
import { REFUSED, refuseForNow, refuseFull, respondWithError } from "./refusals.ts";
import { answerUntilEnd } from "./response-end.ts";
import { createSessionLimits, type SessionLimits } from "./session-limits.ts";

/** MCP over HTTP: whose request it is, and which revision of the protocol it speaks. */
export type McpHttp = {
  /** Answers from Node's own messages what it can, and passes on what `fetch` has to answer. */
  readonly answer: (
    incoming: IncomingMessage,
    response: ServerResponse,
    passOn: () => void,
  ) => Promise<void>;
  readonly fetch: (request: Request, address?: string, incoming?: Incoming) => Promise<Response>;
  readonly measure: () => ConnectionMeasures;
  /** Waits for calls that still run, so long at most, and ends what only listens. */
  readonly close: (timeout_ms: number) => Promise<void>;
};

export type HttpOptions = Omit<ConnectionOptions, "limits"> &
  AnswerOptions & {
    /**
     * The caller that this bearer token belongs to, or undefined. It fails with a `Problem` where
     * nobody can tell for now.
     */
    readonly identify: (token: string) => Promise<IdentifiedCaller | undefined>;
    /** The host names that this server answers to; a page elsewhere could name any other one. */
    readonly hostnames: readonly string[];
  };

/** Calls of one key at a time. One more is told to wait, and not queued. */
const mostCalls = 100;

export function createMcpHttp(options: HttpOptions): McpHttp {
  const { identify, report } = options;
  const hostnames = [...options.hostnames];
  const limits = createSessionLimits(options.clock);
  const connections = createConnections({ ...options, limits });
  const direct = createDirectHttp({ ...options, find });
  let isClosed = false;

  return {
    answer: async (incoming, response, passOn) => {
      // Whatever goes wrong before an answer, `fetch` meets and tells of.
      const isAnswered = await direct.answer(incoming, response).catch(() => false);
      if (!isAnswered && !response.destroyed) passOn();
    },
    fetch: async (request, address, incoming) => {
      try {
        return await admit(request, address, incoming);
      } catch (error) {
        if (error instanceof Problem) return refuseForNow(error.message);
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

  /** Undefined where the token is refused, or its calls are. */
  async function find(token: string): Promise<KeyConnections | undefined> {
    const caller = await identify(token);
    const connected = caller && !isClosed ? connections.find(caller) : undefined;
    return connected && connected.calls.count() < mostCalls ? connected : undefined;
  }

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
    const token = readBearer(request.headers.get("authorization"));
    const caller = token === undefined ? undefined : await identify(token);
    if (caller === undefined) return refuseToken(token);
    if (isClosed) return refuseForNow("Waypost is stopping.");
    const connected = connections.find(caller);
    // One user of a gateway is told from another by address alone.
    const client = `${connected.key_print} ${findAddressGroup(address ?? "")}`;
    if (request.method === "POST") {
      return receive({ request, client, incoming, limits, direct }, connected);
    }
    const { listeners, sessions } = connected;
    return track(listeners, () => sessions.fetch({ request, client, body: undefined, bytes: 0 }));
  }
}

async function receive(
  { request, client, incoming, limits, direct }: Received,
  { calls, listeners, sessions, modern }: KeyConnections,
): Promise<Response> {
  if (calls.count() >= mostCalls) return refuseForNow("Too many calls at once.");
  const reading = {};
  calls.begin(reading);
  const message = incoming ?? request;
  const read = await (direct.take(message) ?? readMessage(message)).finally(() => {
    calls.end(reading);
  });
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

type Received = {
  readonly request: Request;
  readonly client: string;
  readonly incoming: Incoming | undefined;
  readonly limits: SessionLimits;
  readonly direct: DirectHttp;
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

function refuseToken(token: string | undefined): Response {
  const [message, challenge] =
    token === undefined
      ? ["A token is missing. Send it in the header Authorization: Bearer <token>.", "Bearer"]
      : ["The token is not known here.", 'Bearer error="invalid_token"'];
  return respondWithError(401, REFUSED, message, { "www-authenticate": challenge });
}
