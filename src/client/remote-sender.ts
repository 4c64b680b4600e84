import { Agent, buildConnector } from "undici";
import { toSignal } from "../contract/waiting.ts";
import { requestIdHeader } from "../text/request-id.ts";
import { NotSent, type Send } from "./send-once.ts";

/** Sends API requests over HTTP to a remote server. */

const connectTimeout_ms = 10_000;
/** Limits the load on the server. Calls above the limit wait for a connection. */
const mostConnections = 64;
/** The size limit for a response body. Every response of the API is smaller. */
const replyBytes = 8 * 1024 * 1024;

/** Uses undici's `request`, because `fetch` sends a request again after a 421. */
export function openRemoteSender() {
  const dispatcher = new Agent({
    connect: connectOrMarkUnsent(buildConnector({ timeout: connectTimeout_ms })),
    connections: mostConnections,
    pipelining: 1,
  });
  const send: Send = async ({ url, method, headers: own, body, requestId }, signal) => {
    const { origin, pathname, search } = new URL(url);
    const path = pathname + search;
    const headers = requestId === undefined ? own : { ...own, [requestIdHeader]: requestId };
    const sent = { origin, path, method, headers, body: body ?? null, signal: toSignal(signal) };
    const reply = await dispatcher.request(sent);
    const named = Object.entries(reply.headers).map(([name, value]) => [name, String(value)]);
    return {
      status: reply.statusCode,
      headers: Object.fromEntries(named),
      readBody: async () => readContent(await readStream(reply.body)),
    };
  };
  return { send, close: () => dispatcher.destroy() };
}

function connectOrMarkUnsent(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (error, socket) => {
      if (error === null) callback(null, socket);
      else callback(new NotSent("no connection", { cause: error }), null);
    });
}

/** Returns undefined if the body is too large. */
async function readStream(body: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > replyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Parses a body. Returns JSON as a value, an empty body as null, and any other body as text. */
export function readContent(text: string | undefined): unknown {
  if (text?.trim() === "") return null;
  try {
    // Some servers send a byte order mark at the start, but JSON does not allow it.
    return text && JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return text;
  }
}
