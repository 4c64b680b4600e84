import { Agent, buildConnector } from "undici";
import type { AnswerApi } from "../contract/api-message.ts";
import { requestIdHeader } from "../text/request-id.ts";
import { readContent, readStream } from "./read-reply.ts";
import { NotSent, type Send } from "./send-once.ts";

/** Two ways to send API messages: HTTP to a remote deployment, or a call in this process. */

/** Its connections stay open between calls. */
export type RemoteSender = {
  readonly send: Send;
  readonly close: () => Promise<void>;
};

const connectTimeout_ms = 10_000;
/** More calls than that wait for each other: a deployment is not flooded by its own assistant. */
const mostConnections = 64;

/**
 * Speaks through `request`, not `fetch`: fetch would send a call again after a 421, and whether a
 * call may be repeated is decided in one place only.
 */
export function openRemoteSender(): RemoteSender {
  const dispatcher = new Agent({
    connect: connectOrSay(buildConnector({ timeout: connectTimeout_ms })),
    connections: mostConnections,
    pipelining: 1,
  });
  const send: Send = async ({ url, method, headers: own, body, requestId }, readSignal) => {
    const { origin, pathname, search } = new URL(url);
    const path = pathname + search;
    const headers = requestId === undefined ? own : { ...own, [requestIdHeader]: requestId };
    const sent = { origin, path, method, headers, body: body ?? null, signal: readSignal() };
    const reply = await dispatcher.request(sent);
    const named = Object.entries(reply.headers).map(([name, value]) => [name, String(value)]);
    return {
      status: reply.statusCode,
      headers: Object.fromEntries(named),
      readBody: async (form) =>
        readContent(await readStream(reply.body), form, reply.headers["content-type"]),
      discard: () => {
        // The body is thrown away, so its errors are ignored.
        reply.body.on("error", () => undefined).destroy();
      },
    };
  };
  return { send, close: () => dispatcher.destroy() };
}

/** An error before there is a connection had no effect; with the same code later it may have. */
function connectOrSay(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (error, socket) => {
      if (error === null) callback(null, socket);
      else callback(new NotSent("no connection", { cause: error }), null);
    });
}

/** Hands messages to what answers them in this process: its replies come at once, and whole. */
export function sendEmbedded(answer: AnswerApi): Send {
  return async (request, readSignal) => {
    const onLeave = (leave: () => void) =>
      readSignal().addEventListener("abort", leave, { once: true });
    const hasLeft = () => readSignal().aborted;
    const reply = await answer({ ...request, onLeave, hasLeft });
    // Nothing is on the way, so there is nothing to discard.
    const { status, headers } = reply;
    const readBody = () => Promise.resolve(reply.body);
    return { status, headers, readBody, discard: () => undefined };
  };
}
