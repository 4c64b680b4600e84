import { getRequestListener } from "@hono/node-server";
import { once as nextEvent } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Host } from "../host/host.ts";
import { once } from "../mcp/schemas/once.ts";
import { findClientAddress } from "../network/client-address.ts";
import { createTrust, type TrustedProxies, type Trusts } from "../network/trusted-proxies.ts";
import type { HttpCarrier, HttpFetch } from "../service/http-carrier.ts";

/**
 * The one port of a data folder: which part answers a request, told by its Host header and path.
 * Slow and oversized senders are cut off by the limits below.
 */

const serverLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1000,
  // Longer than the minute for which most proxies keep theirs: the proxy must be the one that
  // closes a connection, or its request may meet one that is just being closed.
  keepAliveTimeout: 65_000,
} as const;

/** What is still running when a stop is asked for may finish within this time. */
export const finish_ms = 1500;
const closeIdleEvery_ms = 20;

export type RequestHandlers = {
  /** The REST API; undefined where it is not for this process to answer. */
  readonly api: HttpCarrier | undefined;
  /** Undefined in a process that speaks MCP over stdio. */
  readonly mcp: HttpFetch | undefined;
  /** What a person opens in a browser, by how its path begins: `/approve/`. */
  readonly pages: Readonly<Record<string, HttpFetch>>;
  /** Undefined where the links live elsewhere. */
  readonly links: Host | undefined;
  /** This server's own names: none is a link host, whatever the link origin says. */
  readonly hostnames: readonly string[];
  /** Whether calls can be answered. */
  readonly isHealthy: () => Promise<boolean>;
  /** Who is believed what they say of their clients' addresses. */
  readonly trustedProxies: TrustedProxies | undefined;
  /** Answers other processes of the data folder, and tells whether it was one that asked. */
  readonly answerProcess?:
    ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
};

/** Listens a moment before the store is open; until then it asks clients to come back. */
export function createHttpServer(): Server {
  return createServer(serverLimits, answerStarting);
}

/** Answers the port that is had in the end. */
export async function listenAt(
  server: Server,
  place: { readonly host: string; readonly port: number },
): Promise<number> {
  const listening = nextEvent(server, "listening");
  server.listen(place);
  await listening;
  // A listening TCP server has an address with a port; only pipes have a path instead.
  return (server.address() as AddressInfo).port;
}

/**
 * Idle connections end at once, busy ones when their answer is out or the time is up. So do those
 * that never asked for anything: browsers open some in advance.
 */
export async function closeHttpServer(server: Server, besides?: Promise<void>): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A connection becomes idle when its last answer is out, and Node looks only once.
  const closing = setInterval(() => server.closeIdleConnections(), closeIdleEvery_ms);
  const timer = setTimeout(() => server.closeAllConnections(), finish_ms);
  await besides;
  await closed;
  clearInterval(closing);
  clearTimeout(timer);
}

/** From now on these answer, in place of `answerStarting`. */
export function setRequestHandlers(server: Server, handlers: RequestHandlers): void {
  server.off("request", answerStarting).on("request", createListener(handlers));
}

function answerStarting(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("retry-after", "1");
  respond(response, 503, { error: "Waypost is starting." });
}

function createListener(handlers: RequestHandlers) {
  const { api, links, hostnames, isHealthy } = handlers;
  const trusts = createTrust(handlers.trustedProxies);
  const listen = (fetch: HttpFetch) =>
    getRequestListener((request, { incoming }) =>
      fetch(request, readAddress(incoming, trusts), incoming),
    );
  const answerAnyApi = api && listen(api.fetch);
  const answerApi =
    answerAnyApi &&
    ((request: IncomingMessage, response: ServerResponse) => {
      if (api.answerRead(request, response, readAddress(request, trusts))) return undefined;
      return answerAnyApi(request, response);
    });
  const answerMcp = handlers.mcp && listen(handlers.mcp);
  // Few processes are ever asked for a page, and what answers one takes long to load.
  const pages = Object.entries(handlers.pages).map(([start, fetch]) => {
    return { start, open: once(() => listen(fetch)) };
  });

  return (request: IncomingMessage, response: ServerResponse): void => {
    const host = readHostname(request);
    const answerHere = () => answerOwn(request, response);
    if (links === undefined || hostnames.includes(host)) answerHere();
    else void links.answer(request, response, host, answerHere);
  };

  function answerOwn(request: IncomingMessage, response: ServerResponse): void {
    if (handlers.answerProcess?.(request, response) === true) return;
    const { url = "" } = request;
    const query = url.indexOf("?");
    const path = query < 0 ? url : url.slice(0, query);
    if (path === "/healthz" && /^(GET|HEAD)$/.test(request.method ?? "")) {
      void answerHealth(response);
      return;
    }
    const page = pages.find(({ start }) => path.startsWith(start));
    const answer = page?.open() ?? (path === "/mcp" ? answerMcp : answerApi);
    if (answer !== undefined) void answer(request, response);
    else respond(response, 404, { error: "Not found: this server has no API here." });
  }

  async function answerHealth(response: ServerResponse): Promise<void> {
    const isWell = await isHealthy();
    respond(response, isWell ? 200 : 503, { status: isWell ? "ok" : "store unavailable" });
  }
}

function readAddress(
  { headers, socket }: Pick<IncomingMessage, "headers" | "socket">,
  trusts: Trusts,
): string | undefined {
  const arrival = {
    peer: socket.remoteAddress,
    forwarded: headers.forwarded,
    // Node joins the lines of a header; its type does not say so.
    forwardedFor: headers["x-forwarded-for"]?.toString(),
  };
  return findClientAddress(arrival, trusts);
}

function readHostname({ headers }: IncomingMessage): string {
  // A name may end with the dot of the root, and is the same without it.
  return (headers.host ?? "").replace(/\.?(:\d+)?$/, "").toLowerCase();
}

function respond(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
    .end(JSON.stringify(body));
}
