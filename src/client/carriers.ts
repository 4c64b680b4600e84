import { Agent, buildConnector } from "undici";
import type { AnswerApi } from "../contract/api-message.ts";
import { requestIdHeader } from "../text/request-id.ts";
import { NotSent, ReplyTooLarge, type BodyForm, type Send } from "./send-once.ts";

/** Two ways to send API messages: HTTP to a remote server, or a call in this process. */

/** Its connections stay open between calls. */
export type RemoteSender = {
  readonly send: Send;
  readonly close: () => Promise<void>;
};

const connectTimeout_ms = 10_000;
/** More calls than that wait for each other: a server is not flooded by its own assistant. */
const mostConnections = 64;
/** No answer of the API needs more. */
const replyBytes = 8 * 1024 * 1024;

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

async function readStream(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > replyBytes) throw new ReplyTooLarge("an answer larger than 8 MiB");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Null for an empty body, undefined for what does not have that form. Words may be data too. */
export function readContent(text: string, form: BodyForm, type: unknown): unknown {
  if (form === "page") return /^text\/html\s*(;|$)/i.test(String(type)) ? text : undefined;
  if (text.trim() === "") return null;
  try {
    // Some servers begin with a byte order mark, which is no part of JSON.
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return form === "words" ? text : undefined;
  }
}

/** Hands messages to what answers them in this process: its replies come at once, and whole. */
export function sendEmbedded(answer: AnswerApi): Send {
  return async (request, readSignal) => {
    const onLeave = (leave: () => void) =>
      readSignal().addEventListener("abort", leave, { once: true });
    const hasLeft = () => readSignal().aborted;
    const reply = await answer({ ...request, onLeave, hasLeft });
    const { status, headers } = reply;
    const readBody = () => Promise.resolve(reply.body);
    return { status, headers, readBody, discard: () => undefined };
  };
}
