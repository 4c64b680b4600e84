import { listRequestIds, type RpcId } from "./messages.ts";

/** HTTP error responses for requests that do not reach an MCP server. */

/** JSON-RPC reserves this code for server-defined errors. */
export const REFUSED = -32001;

export function refuseForNow(message: string, { wait_s = 1, id }: RetryDetails = {}): Response {
  // The same fields as in the error of a tool call.
  const data = { code: "overloaded", effect: "none", retry: "later", retry_after_s: wait_s };
  const error = { code: REFUSED, message, data };
  return respond(503, { id: id ?? null, error }, { "retry-after": `${wait_s}` });
}

type RetryDetails = {
  readonly wait_s?: number;
  /** The ID of the request, if the message could be parsed. */
  readonly id?: RpcId | undefined;
};

export function refuseStopping(): Response {
  return refuseForNow("Waypost is stopping.");
}

/**
 * The retry delay is longer than that of a busy server, because sessions stay open for a long time.
 */
export function refuseFull(body: unknown): Response {
  return refuseForNow(
    "Too many sessions are open. End the ones you do not need (DELETE with their " +
      "Mcp-Session-Id), use revision 2026-07-28, which needs no session, or try again later. " +
      "Sessions unused for five minutes may be ended.",
    { wait_s: fullFor_s, id: listRequestIds(body)[0] },
  );
}

const fullFor_s = 30;

export function refuseCalls(): Response {
  return refuseForNow("Too many calls are running. Wait until some of them end.");
}

/** A 404 makes clients open a new session. */
export function refuseUnknownSession(): Response {
  return respondWithError(404, REFUSED, "Session not found");
}

export function respondWithError(
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return respond(status, { id: null, error: { code, message } }, headers);
}

function respond(
  status: number,
  answer: { readonly id: RpcId | null; readonly error: object },
  headers: Readonly<Record<string, string>>,
): Response {
  return Response.json(
    { jsonrpc: "2.0", ...answer },
    { status, headers: { ...headers, "cache-control": "no-store" } },
  );
}
