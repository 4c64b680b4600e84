import { Agent, request as httpRequest, type OutgoingHttpHeaders } from "node:http";
import { checkText } from "./api-description.ts";
import { callOf, handshake } from "./mcp-raw.ts";

/** Requests to `/mcp` as no client library would send them: any header, any body. */
export type Posted = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
};

export type Posting = {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** A text travels as it is; several are sent one after another, without a length. */
  readonly body?: string | readonly string[];
  readonly agent?: Agent;
};

const revision = "2026-07-28";

export async function post(url: string, given: Posting): Promise<Posted> {
  if (given.agent !== undefined) return postOver(given.agent, url, given);
  // After a refusal in the middle of a body, its connection is of no use to the next request.
  const own = new Agent({ keepAlive: true });
  return postOver(own, url, given).finally(() => own.destroy());
}

function postOver(agent: Agent, url: string, given: Posting): Promise<Posted> {
  const { method = "POST", headers = {}, body = "" } = given;
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent });
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        const posted = { status: response.statusCode ?? 0, headers: response.headers, text };
        const sent = { method, url, body: typeof body === "string" ? body : body.join("") };
        try {
          checkText(sent, posted);
          resolve(posted);
        } catch (error) {
          reject(error);
        }
      });
      response.on("error", reject);
    });
    request.on("error", reject);
    if (typeof body === "string") {
      request.end(body);
    } else {
      for (const part of body) request.write(part);
      request.end();
    }
  });
}

/** One call in 2026-07-28: nothing comes before it and nothing stays after it. */
export function modernCall(token: string, id: number | string, name: string, args: object = {}) {
  const { method, params } = callOf(id, name, args);
  return modernRequest(token, id, method, params);
}

export function modernRequest(token: string, id: number | string, method: string, params: object) {
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return {
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": revision,
      "mcp-method": method,
      ...("name" in params && { "mcp-name": String(params.name) }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: envelope } }),
  };
}

/** A message of the earlier revisions, in a session or to open one. */
export function withSession(token: string, id: string | undefined, message?: object) {
  return {
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(id !== undefined && { "mcp-session-id": id }),
    },
    body: message === undefined ? "" : JSON.stringify(message),
  };
}

/** A stream of news in a session of its own, which lasts until the server ends it. */
export async function listenInSession(url: string, token: string): Promise<Response> {
  const opened = await post(url, withSession(token, undefined, handshake[0]));
  const id = String(opened.headers["mcp-session-id"]);
  await post(url, withSession(token, id, handshake[1]));
  const { headers } = withSession(token, id);
  return fetch(url, { headers: { ...headers, accept: "text/event-stream" } });
}

/** The same in 2026-07-28. */
export async function listenModern(url: string, token: string): Promise<Response> {
  return fetch(url, { method: "POST", ...listenRequest(token) });
}

export function listenRequest(token: string) {
  const notifications = { toolsListChanged: true };
  return modernRequest(token, "listen", "subscriptions/listen", { notifications });
}
