import { getRequestListener } from "@hono/node-server";
import { once as nextEvent } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  createServer as createNetServer,
  Server as NetServer,
  type AddressInfo,
  type Socket,
} from "node:net";
import { apiPrefix } from "../../contract/index.ts";
import { readLlmsText } from "../../help/help-topics.ts";
import type { WatchHttp } from "../../contract/watch.ts";
import type { LinkHost } from "../../host/host.ts";
import type { AnswerScrape } from "../../metrics/answer-scrape.ts";
import {
  findClientAddress,
  createTrust,
  type TrustedProxies,
} from "../../network/client-address.ts";
import { limitUnanswered, type AnswerRequest } from "../../network/limit-unanswered.ts";
import type { Incoming } from "../../network/read-body.ts";
import { isRead } from "../../network/read-request.ts";
import type { AnswerHttp } from "../../service/http.ts";
import { readRequestId, requestIdHeader } from "../../text/request-id.ts";
import { assetPath } from "../../console/asset-path.ts";
import { answerProbe, isProbeOfAddress, type ReadUnready } from "./answer-probes.ts";
import { tlsAskPath, type AnswerTlsAsk } from "./answer-tls-ask.ts";
import { respondJson } from "./respond-json.ts";

/**
 * The HTTP server of a data folder. All parts share one port; the Host header and the path select
 * the handler. The limits below cut off slow and oversized requests.
 */

const serverLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1000,
  // Most proxies keep idle connections for a minute. The proxy must close them first, or its next
  // request may use a connection that this server is closing.
  keepAliveTimeout: 65_000,
} as const;

const socketOptions = {
  noDelay: true,
  // Detects clients that vanish, so that they do not count as connected forever.
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
} as const;

/** How long requests may continue after the server stops listening. */
const finish_ms = 1500;
const closeIdleEvery_ms = 20;
/** How long to wait for requests that were sent before the server stopped listening. */
const quiet_ms = 100;

export type HttpServer = Server & {
  /** Listeners on the loopback addresses that pass their connections to this server. */
  readonly twins: readonly NetServer[];
  /** Connections without a request so far. Browsers open some in advance. */
  readonly unused: Set<Socket>;
  answer: AnswerRequest;
};

/** `address` is the client's IP address, and `incoming` is Node's request. */
export type HttpFetch = (
  request: Request,
  address: string | undefined,
  incoming: Incoming,
) => Promise<Response>;

/** Answers requests from processes that share the data folder. Returns false for other requests. */
export type AnswerProcess = (request: IncomingMessage, response: ServerResponse) => boolean;

export type RequestHandlers = {
  /** The REST API; undefined if this process does not serve it. */
  readonly api: AnswerHttp | undefined;
  /** Undefined in a process that uses MCP over stdio. */
  readonly mcp: { readonly fetch: HttpFetch } | undefined;
  /** Observes requests of MCP clients, except long-lived streams. */
  readonly watchMcp?: WatchHttp | undefined;
  /** The pages for users, by path prefix, such as `/approve/`. */
  readonly pages: Readonly<Record<string, HttpFetch>>;
  /** The console; undefined if it is off. It answers browsers' requests for all other pages. */
  readonly console?: HttpFetch | undefined;
  /** Undefined if a remote server serves the links. */
  readonly links: LinkHost | undefined;
  /** Observes the requests to link hosts. */
  readonly watchVisit?: WatchHttp | undefined;
  /** This server's own host names, which are never link hosts. */
  readonly hostnames: readonly string[];
  readonly readUnready: ReadUnready;
  /** Undefined if no token for metrics is set. */
  readonly answerScrape?: AnswerScrape | undefined;
  /** Undefined in a stdio process, because no proxy is in front of it. */
  readonly answerTlsAsk?: AnswerTlsAsk | undefined;
  /** The proxies that are trusted to report client IP addresses in headers. */
  readonly trustedProxies: TrustedProxies | undefined;
  /** Inspects the first request of each connection, to detect untrusted proxies. */
  readonly lookAtFirst?: ((request: IncomingMessage) => void) | undefined;
  readonly answerProcess?: AnswerProcess | undefined;
};

/** Creates the server. Until its handlers are set, it returns 503. */
export function createHttpServer(): HttpServer {
  const unused = new Set<Socket>();
  // A client may half-close its connection and still read the response, as with Node's HTTP server.
  const open = () => createNetServer({ ...socketOptions, allowHalfOpen: true });
  const twins = [open(), open()];
  const own = { unused, twins, answer: answerStarting };
  const server = Object.assign(createServer({ ...serverLimits, ...socketOptions }), own);
  for (const twin of twins) {
    twin.on("connection", (socket) => server.emit("connection", socket));
  }
  server.on(
    "request",
    limitUnanswered((request, response) => server.answer(request, response)),
  );
  server.on("connection", (socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  return server;
}

/** Returns the port, which the system chooses if the requested port is 0. */
export async function listenAt(
  server: NetServer,
  place: { readonly host: string; readonly port: number },
): Promise<number> {
  const listening = nextEvent(server, "listening");
  server.listen(place);
  await listening;
  // A listening TCP server always has an address object; only a pipe has a string.
  return (server.address() as AddressInfo).port;
}

/**
 * Stops listening but keeps idle connections. Resolves when all of the listener's connections have
 * ended.
 */
export function closeListener(server: NetServer): Promise<unknown> {
  return new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
}

/** Closes the server and all connections immediately, after a failed start. */
export function endHttpServer(server: HttpServer): void {
  for (const each of [server, ...server.twins]) each.close();
  server.closeAllConnections();
}

const apiStart = `${apiPrefix}/`;

type CloseOptions = {
  readonly otherWork?: Promise<unknown> | undefined;
  readonly most_ms?: number;
};

/**
 * Stops listening. Requests that were already sent get a response that closes their connection.
 * Idle connections are closed after a moment without requests, busy ones after their response or a
 * timeout.
 */
export async function closeHttpServer(
  server: HttpServer,
  { otherWork, most_ms = finish_ms }: CloseOptions = {},
): Promise<void> {
  let askedAt = performance.now();
  server.prependListener("request", (_request, response: ServerResponse) => {
    askedAt = performance.now();
    response.shouldKeepAlive = false;
  });
  // `server.close()` would close idle connections at once, although a request may be on its way.
  const closed = Promise.all([server, ...server.twins].map(closeListener));
  // Repeat, because Node closes only the connections that are idle at that moment.
  const closing = setInterval(() => {
    if (performance.now() - askedAt < quiet_ms) return;
    server.closeIdleConnections();
    for (const socket of server.unused) socket.destroy();
  }, closeIdleEvery_ms);
  const timer = setTimeout(() => server.closeAllConnections(), most_ms);
  await otherWork;
  await closed;
  clearInterval(closing);
  clearTimeout(timer);
}

export function setRequestHandlers(server: HttpServer, handlers: RequestHandlers): void {
  server.answer = createListener(handlers, server.unused);
}

function answerStarting(request: IncomingMessage, response: ServerResponse): void {
  if (answerProbe(request, response, () => Promise.resolve("starting"))) return;
  response.setHeader("retry-after", "1");
  respondJson(response, 503, { error: "Waypost is starting." });
}

function createListener(handlers: RequestHandlers, unused: Set<Socket>) {
  const { api, mcp, links, hostnames, readUnready, answerScrape, answerTlsAsk } = handlers;
  const { watchMcp, watchVisit } = handlers;
  const trusts = createTrust(handlers.trustedProxies);
  const listen = (fetch: HttpFetch): AnswerRequest => {
    const answer = getRequestListener((request, { incoming }) =>
      fetch(request, findClientAddress(incoming, trusts), incoming),
    );
    return (request, response) => void answer(request, response);
  };
  const answerApi: AnswerRequest | undefined =
    api && ((request, response) => api(request, response, findClientAddress(request, trusts)));
  const answerMcp = mcp && listen(mcp.fetch);
  const pages = Object.entries(handlers.pages).map(([start, fetch]) => {
    return { start, answer: listen(fetch) };
  });
  const answerConsole = handlers.console && listen(handlers.console);

  return (request: IncomingMessage, response: ServerResponse): void => {
    if (unused.delete(request.socket)) handlers.lookAtFirst?.(request);
    const host = readHostHeader(request);
    const isOwn =
      links === undefined || hostnames.includes(host) || isProbeOfAddress(request.url, host);
    if (isOwn) return answerServer(request, response);
    let end = watchVisit?.(request);
    if (end) response.once("close", () => end?.(response.statusCode));
    void links.answer(request, response, host, () => {
      end = undefined;
      answerServer(request, response);
    });
  };

  function answerServer(request: IncomingMessage, response: ServerResponse): void {
    if (handlers.answerProcess?.(request, response) === true) return;
    const { url = "" } = request;
    // Checked first, because most requests are for the API.
    if (answerApi !== undefined && url.startsWith(apiStart)) {
      answerApi(request, response);
      return;
    }
    const query = url.indexOf("?");
    const path = query < 0 ? url : url.slice(0, query);
    if (answerProbe(request, response, readUnready)) return;
    if (path === "/llms.txt") return void answerLlmsText(request, response);
    if (path === "/metrics" && answerScrape !== undefined) return answerScrape(request, response);
    if (path === tlsAskPath && answerTlsAsk !== undefined) return answerTlsAsk(request, response);
    if (path === "/mcp") startMessage(request, response);
    const page = pages.find(({ start }) => path.startsWith(start));
    const answer = page?.answer ?? (path === "/mcp" ? answerMcp : findRest(request, path));
    if (answer !== undefined) answer(request, response);
    else respondJson(response, 404, { error: "Not found: this server has no REST API." });
  }

  function startMessage(request: IncomingMessage, response: ServerResponse): void {
    nameRequest(request, response);
    const end = request.method === "POST" ? watchMcp?.(request) : undefined;
    if (end) response.once("close", () => end(response.statusCode));
  }

  function findRest(request: IncomingMessage, path: string) {
    return (wantsPage(request, path) ? answerConsole : undefined) ?? answerApi;
  }
}

async function answerLlmsText(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = isRead(request) ? await readLlmsText().catch(() => undefined) : undefined;
  if (text === undefined) return respondJson(response, 404, { error: "Not found." });
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-cache" };
  response.writeHead(200, headers).end(request.method === "HEAD" ? undefined : text);
}

/** Whether the client is a browser requesting a page. Programs accept JSON or any type. */
function wantsPage({ headers: { accept = "" } }: IncomingMessage, path: string): boolean {
  return accept.includes("text/html") || path.startsWith(assetPath);
}

/** Replaces a missing or invalid request ID. Tool calls read the ID from the request's headers. */
function nameRequest({ headers, rawHeaders }: IncomingMessage, response: ServerResponse): void {
  const given = headers[requestIdHeader]?.toString();
  const requestId = readRequestId(given);
  response.setHeader(requestIdHeader, requestId);
  if (given === requestId) return;
  headers[requestIdHeader] = requestId;
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at]?.toLowerCase() === requestIdHeader) rawHeaders.splice(at, 2);
  }
  rawHeaders.push(requestIdHeader, requestId);
}

/** Returns the host name without its port and without a trailing dot. */
function readHostHeader({ headers: { host = "" } }: IncomingMessage): string {
  return host.replace(/\.?(:\d+)?$/, "").toLowerCase();
}
