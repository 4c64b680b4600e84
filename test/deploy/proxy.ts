import { once } from "node:events";
import {
  createServer,
  request as sendRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { openServer } from "../support/ports.ts";

/** Like Caddy with on-demand TLS, but without TLS: asks about each host, then forwards. */

export type PostBody = { readonly key?: string; readonly body?: object };
export type ProxyReply = { readonly status: number; readonly location: string | undefined };

export type Proxy = {
  readonly send: (host: string, path: string, sent?: PostBody) => Promise<ProxyReply>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** The status for a visitor if the proxy has no certificate for the host name. */
export const noCertificate = 525;

export async function startProxy(upstream: number): Promise<Proxy> {
  const server = createServer((request, response) => {
    void (async () => {
      const { host = "", ...headers } = request.headers;
      const asked = await ask(upstream, `/tls/ask?domain=${host}`, {}, undefined);
      if (asked.status !== 200) return response.writeHead(noCertificate).end();
      const forwarding = { host, "x-forwarded-for": "203.0.113.9", via: "1.1 Caddy" };
      const body = request.method === "POST" ? await readAll(request) : undefined;
      const answer = await ask(upstream, request.url ?? "/", { ...headers, ...forwarding }, body);
      const location = answer.location === undefined ? {} : { location: answer.location };
      return response.writeHead(answer.status, location).end();
    })();
  });
  const { port, [Symbol.asyncDispose]: close } = await openServer(server);
  return {
    send: (host, path, sent = {}) => {
      const body = sent.body === undefined ? undefined : JSON.stringify(sent.body);
      return ask(port, path, makeHeaders(host, sent), body);
    },
    [Symbol.asyncDispose]: close,
  };
}

export function makeHeaders(host: string, { key, body }: PostBody): OutgoingHttpHeaders {
  return {
    host,
    ...(key !== undefined && { authorization: `Token ${key}` }),
    ...(body !== undefined && { "content-type": "application/json" }),
  };
}

async function ask(
  port: number,
  path: string,
  headers: OutgoingHttpHeaders,
  body: string | undefined,
): Promise<ProxyReply> {
  const method = body === undefined ? "GET" : "POST";
  const sent = sendRequest({ host: "127.0.0.1", port, path, method, headers });
  sent.end(body);
  // The event's only argument is the response.
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  return { status: response.statusCode ?? 0, location: response.headers.location };
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}
