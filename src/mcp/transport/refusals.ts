import { listRequestIds, type Id } from "./messages.ts";

/** Answers over HTTP to requests that never reach a server of the protocol. */

/** One of the codes that JSON-RPC leaves to servers. */
export const REFUSED = -32001;

export function refuseForNow(message: string, { wait_s = 1, id }: ForNow = {}): Response {
  // In the words in which a tool's own failure tells of it.
  const data = { code: "overloaded", effect: "none", retry: "later", retry_after_s: wait_s };
  const error = { code: REFUSED, message, data };
  return respond(503, { id: id ?? null, error }, { "retry-after": `${wait_s}` });
}

type ForNow = {
  readonly wait_s?: number;
  /** Of the request, where it was read. */
  readonly id?: Id | undefined;
};

export function refuseStopping(): Response {
  return refuseForNow("Waypost is stopping.");
}

/** A server is full for longer than it is busy. */
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

/** The status by which a client knows that it has to begin anew. */
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
  answer: { readonly id: Id | null; readonly error: object },
  headers: Readonly<Record<string, string>>,
): Response {
  return Response.json(
    { jsonrpc: "2.0", ...answer },
    { status, headers: { ...headers, "cache-control": "no-store" } },
  );
}
