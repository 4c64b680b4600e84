import type { IncomingMessage, ServerResponse } from "node:http";
import type { AnswerApi, ApiReply } from "../contract/api-message.ts";
import { readPlainHeaders, type PlainHeaders } from "../network/plain-headers.ts";
import { readRequestId, requestIdHeader } from "../text/request-id.ts";
import { writeBody } from "./respond.ts";

/**
 * Answers a request that has no body from Node's own message, for a `Request` and a `Response`
 * around it cost as much as the answer. False where only `carryOverHttp` can answer it.
 */
export type AnswerRead = (
  incoming: IncomingMessage,
  response: ServerResponse,
  address: string | undefined,
) => boolean;

export function createReadAnswers(answer: AnswerApi): AnswerRead {
  return (incoming, response, address) => {
    const { method = "" } = incoming;
    if (method !== "GET" && method !== "HEAD") return false;
    const url = readPlainUrl(incoming);
    const headers = readHeaders(incoming);
    if (url === undefined || headers === undefined) return false;
    const onLeave = (leave: () => void) => {
      response.once("close", () => {
        if (!response.writableFinished) leave();
      });
    };
    const requestId = readRequestId(headers[requestIdHeader]);
    const reply = answer({ method, url, headers, address, requestId, onLeave });
    if (!(reply instanceof Promise)) sendReply(response, reply, requestId);
    else {
      void reply.then(
        (late) => sendReply(response, late, requestId),
        () => response.writeHead(500).end(),
      );
    }
    return true;
  };
}

/** An address that says what it means as it is; any other one has to be parsed. */
const plainTarget = /^\/[!#$%&(-;=?-[\]_a-z~]*$/;
const dots = /\/(?:\.|%2e){1,2}(?:[/?#]|$)/i;
const plainHost = /^[a-z\d._-]+(?::(?:[1-5]\d{3,4}|[6-9]\d{3}))?$/;

function readPlainUrl({ url = "", headers: { host = "" } }: IncomingMessage): string | undefined {
  if (!plainTarget.test(url) || dots.test(url) || !plainHost.test(host)) return undefined;
  return `http://${host}${url}`;
}

/** Undefined where one came twice, or where a body follows. */
function readHeaders(incoming: IncomingMessage): PlainHeaders | undefined {
  const { headers } = incoming;
  if ("content-length" in headers || "transfer-encoding" in headers) return undefined;
  return readPlainHeaders(incoming);
}

function sendReply(response: ServerResponse, reply: ApiReply, requestId: string): void {
  const { status, headers } = reply;
  const text = writeBody(reply);
  // As a list of names and values: to copy the headers for one more costs as much as the rest.
  const sent = [requestIdHeader, requestId];
  for (const name in headers) sent.push(name, headers[name] ?? "");
  if (text !== null) sent.push("content-length", String(Buffer.byteLength(text)));
  response.writeHead(status, sent).end(text);
}
