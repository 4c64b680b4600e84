import type { IncomingMessage, ServerResponse } from "node:http";
import type { AnswerApi, ApiReply, Sender } from "../contract/api-message.ts";
import type { Clock } from "../contract/clock.ts";
import { limits } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import { badRequest, overloaded, Problem } from "../contract/problem.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import {
  createKeylessReader,
  readAtMost,
  type ReadKeyless,
  type WithBody,
} from "../network/read-body.ts";
import { readRequestId, requestIdHeader } from "../text/request-id.ts";
import { bodyTooLarge } from "./read-body.ts";

/** Answers HTTP requests to the API. */

/** Handles an HTTP request to the API. `address` is the client's IP address, if known. */
export type AnswerHttp = (
  incoming: IncomingMessage,
  response: ServerResponse,
  address: string | undefined,
) => void;

/** How long the rest of a request body is read after the response was sent. */
const restOfBody_ms = 500;

/**
 * Serves the API over Node's HTTP server. Does not create a web `Request` for each call, because
 * that would take as long as the rest of the call.
 */
export function answerOverHttp(answer: AnswerApi, clock: Pick<Clock, "monotonic">): AnswerHttp {
  const readKeyless = createKeylessReader(clock.monotonic);

  async function exchange(...[incoming, response, address]: Parameters<AnswerHttp>): Promise<void> {
    const { method = "", rawHeaders, socket } = incoming;
    const url = readAddress(incoming);
    if (url === undefined) {
      endBodyAfter(response, incoming);
      response.writeHead(400).end();
      return;
    }
    const headers = joinHeaders(rawHeaders);
    const requestId = readRequestId(headers[requestIdHeader]);
    const reply = await answer({
      method,
      url,
      headers,
      body: (sender) => readText(incoming, sender, () => readKeyless(incoming, address)),
      address,
      requestId,
      onLeave: (leave) => {
        response.once("close", () => {
          if (!response.writableFinished) leave();
        });
      },
      hasLeft: () => socket.destroyed,
    });
    endBodyAfter(response, incoming);
    sendReply(response, reply, requestId);
  }

  return (incoming, response, address) => {
    exchange(incoming, response, address).catch(() => response.writeHead(500).end());
  };
}

/** Returns the complete URL with dot segments resolved, or undefined for an invalid URL. */
function readAddress({ url = "", headers: { host = "" } }: IncomingMessage): string | undefined {
  if (!/^[\w.:[\]-]+$/.test(host) || /^[^?]*\\/.test(url)) return undefined;
  // Skips parsing for most URLs, because parsing takes as long as checking a key.
  if (plainTarget.test(url) && !dots.test(url)) return `http://${host}${url}`;
  return readUrl(url.startsWith("/") ? `http://${host}${url}` : url)?.href;
}

const plainTarget = /^\/[!#$%&(-;=?-[\]_a-z~]*$/;
const dots = /\/(?:\.|%2e){1,2}(?:[/?#]|$)/i;

/** Joins repeated headers as `Headers` does, so that the key check sees every key that was sent. */
function joinHeaders(raw: readonly string[]): Readonly<Record<string, string>> {
  const joined: Record<string, string> = {};
  for (let at = 0; at < raw.length; at += 2) {
    const [name, value] = [(raw[at] ?? "").toLowerCase(), raw[at + 1] ?? ""];
    const before = joined[name];
    joined[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return joined;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

export async function readText(
  message: WithBody,
  sender: Sender,
  readKeyless: () => ReturnType<ReadKeyless>,
): Promise<string> {
  try {
    const bytes = await (sender === "keyless"
      ? readKeyless()
      : readAtMost(message, limits.body_bytes));
    if (bytes === "busy") throw overloaded();
    if (bytes === undefined) throw bodyTooLarge(sender);
    return decoder.decode(bytes);
  } catch (error) {
    throw error instanceof Problem ? error : badRequest(messages.body_invalid);
  }
}

function sendReply(response: ServerResponse, reply: ApiReply, requestId: string): void {
  const { status, headers } = reply;
  const text = writeBody(reply);
  // A flat list, because copying the headers object to add one header would be slow.
  const sent = [requestIdHeader, requestId];
  for (const name in headers) sent.push(name, headers[name] ?? "");
  if (text !== null) sent.push("content-length", String(Buffer.byteLength(text)));
  response.writeHead(status, sent).end(text);
}

/** Serializes the body. JSON bodies are always objects, so a string is an HTML page. */
export function writeBody({ body }: Pick<ApiReply, "body">): string | null {
  return body === null || typeof body === "string" ? body : JSON.stringify(body);
}

/**
 * Reads and discards the rest of a request body, because some clients send the whole body before
 * they read the response. The timer is shorter than Node's own request timeout.
 */
function endBodyAfter(response: ServerResponse, incoming: IncomingMessage): void {
  if (incoming.complete) return;
  response.once("finish", () => {
    incoming.resume();
    setTimeout(() => {
      if (!incoming.complete) incoming.destroy();
    }, restOfBody_ms).unref();
  });
}
