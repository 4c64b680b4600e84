import {
  hostHeaderValidationResponse,
  INTERNAL_ERROR,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import type { IncomingMessage, ServerResponse } from "node:http";
import { messages } from "../../contract/messages.ts";
import { Problem } from "../../contract/problem.ts";
import type { Incoming } from "../../network/read-at-most.ts";
import { readBearer } from "../../text/bearer-token.ts";
import { isClientToken } from "../../text/client-token.ts";
import { describeFault } from "../results/tool-failure.ts";
import { createCallLimits } from "./call-limits.ts";
import { createDirectHttp, type AnswerOptions } from "./direct-http.ts";
import {
  createConnections,
  type ConnectionMeasures,
  type ConnectionOptions,
  type IdentifiedCaller,
  type KeyConnections,
} from "./key-connections.ts";
import { beginCall, endListening, readOrigin, receive, type Listening } from "./receive.ts";
import { REFUSED, refuseForNow, refuseStopping, respondWithError } from "./refusals.ts";
import { createSessionLimits } from "./session-limits.ts";

/** MCP over HTTP: whose request it is, and which revision of the protocol it speaks. */
export type McpHttp = {
  /** Answers from Node's own messages what it can, and passes on what `fetch` has to answer. */
  readonly answer: (
    incoming: IncomingMessage,
    response: ServerResponse,
    passOn: () => void,
    address?: string,
  ) => Promise<void>;
  readonly fetch: (request: Request, address?: string, incoming?: Incoming) => Promise<Response>;
  readonly measure: () => ConnectionMeasures;
  /** Ends what only listens, for good. Calls are answered as before. */
  readonly endListening: () => void;
  /** Ends everything; nothing more can come. */
  readonly close: () => Promise<void>;
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

export function createMcpHttp(options: HttpOptions): McpHttp {
  const { identify, report } = options;
  const hostnames = [...options.hostnames];
  const limits = createSessionLimits(options.clock);
  const connections = createConnections({ ...options, limits });
  const callLimits = createCallLimits(options.setAlarm);
  const direct = createDirectHttp({
    ...options,
    find,
    begin: (connected, { address, session }) =>
      beginCall(connected, readOrigin(connected, address, session), callLimits),
  });
  const listening: Listening = { isOver: false, endings: new Set() };
  let isClosed = false;

  return {
    answer: async (incoming, response, passOn, address) => {
      // Whatever goes wrong before an answer, `fetch` meets and tells of.
      const isAnswered = await direct.answer(incoming, response, address).catch(() => false);
      if (!isAnswered && !response.destroyed) passOn();
    },
    fetch: async (request, address, incoming) => {
      try {
        return leaveConnection(await admit(request, address, incoming));
      } catch (error) {
        if (error instanceof Problem) return refuseForNow(error.message);
        return respondWithError(500, INTERNAL_ERROR, describeFault(report(error)));
      }
    },
    measure: connections.measure,
    endListening: () => endListening(listening),
    close: async () => {
      endListening(listening);
      isClosed = true;
      await connections.close();
    },
  };

  /** Undefined where the token is refused, or its calls are. */
  async function find(token: string): Promise<KeyConnections | undefined> {
    const caller = await identify(token);
    return caller && !isClosed ? connections.find(caller) : undefined;
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
    if (isClosed) return refuseStopping();
    const connected = connections.find(caller);
    const from = readOrigin(connected, address, request.headers.get("mcp-session-id") ?? undefined);
    const parts = { limits, callLimits, direct, listening };
    return receive({ request, from, incoming, ...parts }, connected);
  }
}

function refuseToken(token: string | undefined): Response {
  const challenge = token === undefined ? "Bearer" : 'Bearer error="invalid_token"';
  return respondWithError(401, REFUSED, explainRefusal(token), { "www-authenticate": challenge });
}

function explainRefusal(token: string | undefined): string {
  if (token === undefined) {
    return "A token is missing. Send it in the header Authorization: Bearer <token>.";
  }
  return isClientToken(token) ? messages.client_key_here : "This server does not accept the token.";
}

/** Whether it stays open the server says: one that is asked to stop lets it end. */
function leaveConnection(response: Response): Response {
  response.headers.delete("connection");
  return response;
}
