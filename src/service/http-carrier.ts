import type { AnswerApi, ApiReply, Sender } from "../contract/api-message.ts";
import type { Clock } from "../contract/clock.ts";
import { limits } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import { badRequest, overloaded, Problem } from "../contract/problem.ts";
import { createKeylessReader, type ReadKeyless } from "../network/keyless-bodies.ts";
import { readAtMost, type Incoming, type WithBody } from "../network/read-at-most.ts";
import { readRequestId, requestIdHeader } from "../text/request-id.ts";
import { createReadAnswers, type AnswerRead } from "./answer-read.ts";
import { bodyTooLarge } from "./read-body.ts";
import { writeBody } from "./respond.ts";

/** The address is the client's, and `incoming` Node's own message, where they are known. */
export type HttpFetch = (
  request: Request,
  address?: string,
  incoming?: Incoming,
) => Promise<Response>;

export type HttpCarrier = { readonly fetch: HttpFetch; readonly answerRead: AnswerRead };

/** Carries API messages over HTTP: a stranger's request to what answers it, and the reply back. */
export function carryOverHttp(answer: AnswerApi, clock: Pick<Clock, "monotonic">): HttpCarrier {
  const readKeyless = createKeylessReader(clock.monotonic);
  return {
    fetch: async (request, address, incoming) => {
      const { method, url, headers } = request;
      const requestId = readRequestId(headers.get(requestIdHeader));
      const reply = await answer({
        method,
        url,
        headers: incoming ? joinHeaders(incoming.rawHeaders) : Object.fromEntries(headers),
        body: (sender) =>
          readText(incoming ?? request, sender, (message) => readKeyless(message, address)),
        address,
        requestId,
        // Its signal is made when it is asked for, which few requests are worth.
        onLeave: (leave) => request.signal.addEventListener("abort", leave, { once: true }),
        hasLeft: () => (incoming ? incoming.socket.destroyed : request.signal.aborted),
      });
      return writeResponse(reply, requestId);
    },
    answerRead: createReadAnswers(answer),
  };
}

function writeResponse(reply: ApiReply, requestId: string): Response {
  const { status, headers } = reply;
  const sent = { ...headers, [requestIdHeader]: requestId };
  return new Response(writeBody(reply), { status, headers: sent });
}

/** As `Headers` would join them: of a key that came twice, both are seen. */
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

async function readText(
  message: WithBody,
  sender: Sender,
  readKeyless: (message: WithBody) => ReturnType<ReadKeyless>,
): Promise<string> {
  try {
    const bytes = await (sender === "keyless"
      ? readKeyless(message)
      : readAtMost(message, limits.body_bytes));
    if (bytes === "busy") throw overloaded();
    if (bytes === undefined) throw bodyTooLarge(sender);
    return decoder.decode(bytes);
  } catch (error) {
    throw error instanceof Problem ? error : badRequest(messages.body_invalid);
  }
}
