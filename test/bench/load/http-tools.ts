import { modernRequest } from "../../support/mcp-http.ts";
import { ask, type Question } from "./ask.ts";

/** Requests to an MCP server over HTTP, written without a client library. */
export type HttpSession = {
  readonly write: (method: string, params?: object) => Question;
  // The bench reads results as freely as a client in any language would.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly ask: (method: string, params?: object) => Promise<any>;
};

type Server = { readonly url: string };

const path = "/mcp";
let last = 0;

/** As clients of revision 2026-07-28: they need no handshake. */
export function askModern(server: Server, key: string): HttpSession {
  return withWriter(server, (method, params = {}) => {
    const { headers, body } = modernRequest(key, (last += 1), method, params);
    return { method: "POST", path, headers, text: body };
  });
}

/** As clients of revision 2025-11-25: they open a session first. */
export async function openSession(server: Server, key: string): Promise<HttpSession> {
  const protocolVersion = "2025-11-25";
  const known = {
    authorization: `Bearer ${key}`,
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": protocolVersion,
  };
  const clientInfo = { name: "bench", version: "1.0.0" };
  const params = { protocolVersion, capabilities: {}, clientInfo };
  const opening = { jsonrpc: "2.0", id: (last += 1), method: "initialize", params };
  const opened = await ask(server, { method: "POST", path, headers: known, body: opening });
  const session = opened.headers["mcp-session-id"];
  if (session === undefined) throw new Error(`no session: ${opened.status} ${opened.body}`);
  const headers = { ...known, "mcp-session-id": session };
  const body = { jsonrpc: "2.0", method: "notifications/initialized" };
  await ask(server, { method: "POST", path, headers, body });
  return withWriter(server, (method, given = {}) => {
    const message = { jsonrpc: "2.0", id: (last += 1), method, params: given };
    return { method: "POST", path, headers, body: message };
  });
}

function withWriter(server: Server, write: HttpSession["write"]): HttpSession {
  return {
    write,
    ask: async (method, params) => {
      const { status, body } = await ask(server, write(method, params));
      const { result } = status === 200 ? readMessage(body) : {};
      if (result === undefined || result.isError === true) {
        throw new Error(`${method} was answered with ${status}: ${body.slice(0, 500)}`);
      }
      return result;
    },
  };
}

// oxlint-disable-next-line typescript/no-explicit-any
function readMessage(body: string): any {
  const events = body.split("\n").filter((line) => line.startsWith("data: {"));
  return JSON.parse(events.at(-1)?.slice("data: ".length) ?? body);
}
