import type { IncomingMessage, ServerResponse } from "node:http";
import { INTERNAL_ERROR, type Result } from "@modelcontextprotocol/server";
import type { SetAlarm } from "../../contract/clock.ts";
import { describeFault } from "../results/tool-failure.ts";
import { isLong } from "./call-limits.ts";
import type { DirectCall, DirectWay, Turn } from "./direct-calls.ts";
import type { KeyConnections } from "./key-connections.ts";
import { readPlainPost, type PlainPost } from "./plain-post.ts";
import { readMessage, type Message } from "./read-message.ts";

/**
 * Answers calls over HTTP from Node's own message, as the SDK would answer them: a `Request`, a
 * `Response` and streams around them cost several times as much as the call.
 */

export type DirectHttp = {
  /** False where `fetch` has to answer; what was read of it by then is to be taken. */
  readonly answer: (
    incoming: IncomingMessage,
    response: ServerResponse,
    address?: string,
  ) => Promise<boolean>;
  readonly take: (message: object) => Promise<Message | Response> | undefined;
};

export type AnswerOptions = {
  readonly setAlarm: SetAlarm;
  /** Notes an unexpected error where the operator looks, and answers its reference. */
  readonly report: (error: unknown) => string;
};

type Options = AnswerOptions & {
  readonly find: (token: string) => Promise<KeyConnections | undefined>;
  /** Undefined where there is no room for one more call. */
  readonly begin: (connected: KeyConnections, from: Caller) => BegunCall | undefined;
};

type Caller = { readonly address: string | undefined; readonly session: string | undefined };

/** A call that was let in. */
export type BegunCall = { readonly turn: Turn; readonly end: () => void };

export function createDirectHttp({ find, begin, ...options }: Options): DirectHttp {
  const passedOn = new WeakMap<object, Message | Response>();

  return {
    answer: async (incoming, response, address) => {
      const post = readPlainPost(incoming);
      // What is long waits for room where it is read.
      if (post === undefined || isLong(incoming.headers["content-length"])) return false;
      const connected = await find(post.token);
      // Of a request whose headers nobody has let through nothing is read here.
      const isKnown = connected && findWay(post, connected)?.calls.knows(post.headers);
      if (isKnown !== true) return false;
      const begun = begin(connected, { address, session: post.session });
      if (begun === undefined) return false;
      const { turn, end } = begun;
      try {
        const message = await readMessage(incoming);
        const isAnswered = await answerMessage(message, { post, connected, response, turn });
        if (!isAnswered) passedOn.set(incoming, message);
        return isAnswered;
      } finally {
        end();
      }
    },
    take: (message) => {
      const read = passedOn.get(message);
      passedOn.delete(message);
      return read && Promise.resolve(read);
    },
  };

  async function answerMessage(
    message: Message | Response,
    { post, connected, response, turn }: Exchange,
  ): Promise<boolean> {
    // A session may have ended while the message was read.
    const way = findWay(post, connected);
    const call = way && findCall(message, post, way, turn);
    if (way === undefined || call === undefined) return false;
    // `fetch` says why it is refused.
    if (!way.ids.open([call.id])) return false;
    return answerCall(call, way, { post, response, ...options });
  }
}

type Exchange = {
  readonly post: PlainPost;
  readonly connected: KeyConnections;
  readonly response: ServerResponse;
  readonly turn: Turn;
};

function findWay({ session }: PlainPost, { sessions, direct }: KeyConnections) {
  return session === undefined ? direct : sessions.findDirect(session);
}

/** A message that is refused is none of these calls. */
function findCall(
  message: Message | Response,
  { headers, name }: PlainPost,
  { session, calls }: DirectWay,
  turn: Turn,
): DirectCall | undefined {
  const call = message instanceof Response ? undefined : calls.find(message.body, headers, turn);
  if (call === undefined || call.isFollowed) return undefined;
  // The earlier revisions know no such header.
  return session === undefined && call.name !== name ? undefined : call;
}

/** Answers as the SDK would; false where that has to answer after all. */
async function answerCall(
  { id, begin }: DirectCall,
  { session, ids, use }: DirectWay,
  { post, response, ...options }: AnswerOptions & Pick<Exchange, "post" | "response">,
): Promise<boolean> {
  const { result: answered, leave } = begin(tellNobody, post.requestId);
  response.once("close", leave);
  use.begin();
  const stream = session === undefined ? undefined : prepareStream(response, session, options);
  try {
    const result = await answered;
    if (stream === undefined) sendJson(response, result, id);
    else stream.send(result === "cancelled" ? "" : writeEvent({ result, jsonrpc: "2.0", id }));
    return true;
  } catch (error) {
    if (!response.headersSent) return false;
    const message = describeFault(options.report(error));
    stream?.send(writeEvent({ jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message } }));
    return true;
  } finally {
    response.off("close", leave);
    stream?.stop();
    ids.close([id]);
    use.end();
  }
}

/** A client that wants to be told is answered by the SDK. */
function tellNobody(): Promise<void> {
  return Promise.resolve();
}

function sendJson(response: ServerResponse, result: Result | "cancelled", id: string | number) {
  // The status by which the SDK ends what nobody waits for.
  if (result === "cancelled") return response.writeHead(499).end();
  const text = JSON.stringify({ result, jsonrpc: "2.0", id });
  const length = String(Buffer.byteLength(text));
  const headers = ["content-type", "application/json", "content-length", length];
  return response.writeHead(200, headers).end(text);
}

function writeEvent(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

/** An answer that takes longer has its head sent before, and a sign of life from time to time. */
const slow_ms = 100;
const beat_ms = 15_000;

function prepareStream(response: ServerResponse, session: string, { setAlarm }: AnswerOptions) {
  // In the order of the SDK's; a list costs less than an object.
  const head = Object.entries({
    "cache-control": "no-cache, no-transform",
    "content-type": "text/event-stream",
    "mcp-session-id": session,
    "x-accel-buffering": "no",
  }).flat();
  const open = () => {
    response.writeHead(200, head).flushHeaders();
    stop = setAlarm(beat_ms, beat);
  };
  const beat = () => {
    response.write(": keepalive\n\n");
    stop = setAlarm(beat_ms, beat);
  };
  let stop = setAlarm(slow_ms, open);
  return {
    stop: () => stop(),
    send: (text: string) => {
      if (response.headersSent) return response.end(text);
      const length = String(Buffer.byteLength(text));
      return response.writeHead(200, [...head, "content-length", length]).end(text);
    },
  };
}
