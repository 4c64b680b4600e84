import { Agent, buildConnector } from "undici";
import { NotSent, type Send } from "./attempt.ts";

/** The way to a deployment elsewhere. Its connections stay open between calls. */
export type Remote = {
  readonly send: Send;
  readonly close: () => Promise<void>;
};

const connectTimeout_ms = 10_000;
/** More calls than that wait for each other: a deployment is not flooded by its own assistant. */
const mostConnections = 64;

/** Statuses with which a Response can have no body. */
const bodiless = new Set([204, 205, 304]);

/**
 * Speaks through `request`, not `fetch`: fetch would send a call again after a 421, and whether a
 * call may be repeated is decided in one place only.
 */
export function openRemote(): Remote {
  const dispatcher = new Agent({
    connect: connectOrSay(buildConnector({ timeout: connectTimeout_ms })),
    connections: mostConnections,
    pipelining: 1,
  });
  const send: Send = async (request, signal) => {
    const { origin, pathname, search } = new URL(request.url);
    const { statusCode, headers, body } = await dispatcher.request({
      origin,
      path: pathname + search,
      method: request.method,
      headers: Object.fromEntries(request.headers),
      body: request.body === null ? null : await request.text(),
      signal,
    });
    const isBodiless = bodiless.has(statusCode);
    if (isBodiless) await body.dump();
    return new Response(isBodiless ? null : ReadableStream.from(body), {
      // Beyond 599 a Response refuses; such a server is failing all the same.
      status: Math.min(statusCode, 599),
      headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
    });
  };
  return { send, close: () => dispatcher.destroy() };
}

/** What fails before there is a connection left nothing behind; the same code later might have. */
function connectOrSay(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (error, socket) => {
      if (error === null) callback(null, socket);
      else callback(new NotSent("no connection", { cause: error }), null);
    });
}
