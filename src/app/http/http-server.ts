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
 * The HTTP server of a data folder, with one port for all parts. The Host header and the path of a
 * request decide which part answers it. The limits below cut off slow and oversized senders.
 */

const serverLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1000,
  // Longer than the minute for which most proxies keep theirs: the proxy must be the one that
  // closes a connection, or its request may arrive on one that is being closed.
  keepAliveTimeout: 65_000,
} as const;

const socketOptions = {
  noDelay: true,
  // A client that vanishes without closing its connection no longer counts as one that listens.
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
} as const;

/** Requests that are running when the server is stopped may finish within this time. */
const finish_ms = 1500;
const closeIdleEvery_ms = 20;
/** Requests that were sent before the stop are read within this time. */
const quiet_ms = 100;

export type HttpServer = Server & {
  /** They accept connections for this server at the loopback addresses. */
  readonly twins: readonly NetServer[];
  /** Its connections without a request so far: browsers open some in advance. */
  readonly unused: Set<Socket>;
  /** Answers each request. */
  answer: AnswerRequest;
};

/** The address is the client's, and `incoming` is Node's own message. */
export type HttpFetch = (
  request: Request,
  address: string | undefined,
  incoming: Incoming,
) => Promise<Response>;

/** Answers a request from another process of the data folder; returns false for any other. */
export type AnswerProcess = (request: IncomingMessage, response: ServerResponse) => boolean;

export type RequestHandlers = {
  /** The REST API; undefined if this process does not serve it. */
  readonly api: AnswerHttp | undefined;
  /** Undefined in a process that speaks MCP over stdio. */
  readonly mcp: { readonly fetch: HttpFetch } | undefined;
  /** Observes each message of an MCP client. A stream that only listens is a GET, not a message. */
  readonly watchMcp?: WatchHttp | undefined;
  /** The pages that a person opens, by the beginning of their paths, such as `/approve/`. */
  readonly pages: Readonly<Record<string, HttpFetch>>;
  /** The pages that a browser gets at all other paths; undefined if the console is off. */
  readonly console?: HttpFetch | undefined;
  /** Undefined if the links are on a remote server. */
  readonly links: LinkHost | undefined;
  /** Observes what the link host answers. */
  readonly watchVisit?: WatchHttp | undefined;
  /** This server's own names: none is a link host, whatever the link origin says. */
  readonly hostnames: readonly string[];
  readonly readUnready: ReadUnready;
  /** Undefined without a token for the metrics. */
  readonly answerScrape?: AnswerScrape | undefined;
  /** Undefined in a process that has no proxy in front of it. */
  readonly answerTlsAsk?: AnswerTlsAsk | undefined;
  /** The proxies whose headers with clients' addresses are trusted. */
  readonly trustedProxies: TrustedProxies | undefined;
  /** Looks at the first request of each connection. */
  readonly lookAtFirst?: ((request: IncomingMessage) => void) | undefined;
  readonly answerProcess?: AnswerProcess | undefined;
};

/** Creates the server. Until it has its handlers, it asks clients to try again. */
export function createHttpServer(): HttpServer {
  const unused = new Set<Socket>();
  // Like Node's own HTTP server: a client may end its side and still read the response.
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

/** Returns the port, which the system chooses if the given one is 0. */
export async function listenAt(
  server: NetServer,
  place: { readonly host: string; readonly port: number },
): Promise<number> {
  const listening = nextEvent(server, "listening");
  server.listen(place);
  await listening;
  // A listening TCP server has an address with a port; only pipes have a path instead.
  return (server.address() as AddressInfo).port;
}

/** Resolves when its connections have ended. Connections that are idle stay open. */
export function closeListener(server: NetServer): Promise<unknown> {
  return new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
}

/** Stops at once and waits for no client: after a start that failed, clients try again. */
export function endHttpServer(server: HttpServer): void {
  for (const each of [server, ...server.twins]) each.close();
  server.closeAllConnections();
}

const apiStart = `${apiPrefix}/`;

type CloseOptions = {
  /** Other work whose end is awaited as well. */
  readonly otherWork?: Promise<unknown> | undefined;
  readonly most_ms?: number;
};

/**
 * Stops listening. Requests that were sent by then are answered, with a header that says that the
 * connection ends. Idle connections end after a moment without requests, and busy ones after their
 * response, or when the time is up.
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
  // The close of an HTTP server ends idle connections at once, even if a request is on its way.
  const closed = Promise.all([server, ...server.twins].map(closeListener));
  // A connection becomes idle after its last response, and Node closes idle ones only once.
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

/** Sets the handlers that answer from now on, in place of `answerStarting`. */
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
    const host = readHostname(request);
    const isOwn =
      links === undefined || hostnames.includes(host) || isProbeOfAddress(request.url, host);
    if (isOwn) return answerOwn(request, response);
    let end = watchVisit?.(request);
    if (end) response.once("close", () => end?.(response.statusCode));
    void links.answer(request, response, host, () => {
      end = undefined;
      answerOwn(request, response);
    });
  };

  function answerOwn(request: IncomingMessage, response: ServerResponse): void {
    if (handlers.answerProcess?.(request, response) === true) return;
    const { url = "" } = request;
    // Most requests are for the API, and no other path of ours begins like this.
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

/** Whether a browser asks for a page. Programs accept JSON, or any type. */
function wantsPage({ headers: { accept = "" } }: IncomingMessage, path: string): boolean {
  return accept.includes("text/html") || path.startsWith(assetPath);
}

/** Puts a valid request ID into the request, for tool calls, and into the response. */
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

/** Reads the name in the Host header. A name with a dot at its end is the same without it. */
function readHostname({ headers: { host = "" } }: IncomingMessage): string {
  return host.replace(/\.?(:\d+)?$/, "").toLowerCase();
}
