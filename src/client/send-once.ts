import type { ApiReply, ApiRequest } from "../contract/api-message.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Leaving } from "../contract/leaving.ts";
import { messages } from "../contract/messages.ts";
import { notFound, Problem, saysNothingWritten } from "../contract/problem.ts";
import { quote } from "../text/show-hidden.ts";
import { CallFailure, describeCode } from "./call-failure.ts";
import { failOverloaded, type Outcome } from "./outcome.ts";
import { describeBody, noteWarnings, readAnswer } from "./read-answer.ts";
import { hideSecret, isPage, readRefusal, type Refusal } from "./read-refusal.ts";

/** One try at a call, and what can be known from how it ended (security-reliability.md §2.2). */

/** The way to a server: over the network, or to the service in this process. */
export type Send = (request: ApiRequest, readSignal: () => AbortSignal) => Promise<Reply>;

/** A reply whose status is there; its body may still be on the way, and may never arrive. */
type Reply = Omit<ApiReply, "body"> & {
  /** Undefined for what does not have that form, null for no body at all. */
  readonly readBody: (form: BodyForm) => Promise<unknown>;
  /** Drops a body that is not read. */
  readonly discard: () => void;
};

/** What a body is read as: the data of JSON, the text of a page, or whatever a refusal says. */
export type BodyForm = "data" | "page" | "words";

/** Thrown by `readBody`. */
export class ReplyTooLarge extends Error {
  override readonly name = "ReplyTooLarge";
}

/** Thrown by a `Send` that knows that no byte of the request left. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

/** Calls `ring` once, after that time; the function that comes back stops the timer. */
export type SetTimer = (ring: () => void, milliseconds: number) => () => void;

type Attempt = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
  readonly request: ApiRequest;
  readonly send: Send;
  readonly signal: Leaving;
  readonly most_ms: number;
  readonly setTimer: SetTimer;
  /** Takes the `Date` of a reply. */
  readonly noteDate: (date: string | undefined) => void;
  /** The key: a server may repeat it in its words, and the assistant reads those. */
  readonly secret: string | undefined;
  /** The host name of a remote server; undefined for our own service. */
  readonly remoteHost: string | undefined;
};

export async function sendOnce(attempt: Attempt): Promise<Outcome> {
  const deadline = startDeadline(attempt);
  try {
    return await receive(attempt, deadline);
  } finally {
    deadline.stop();
  }
}

type Deadline = {
  readonly isOver: () => boolean;
  /** Rejects when it is over, because not every `Send` heeds a signal. */
  readonly ended: Promise<never>;
  /** Made on demand: a signal costs more than a call that stays in this process. */
  readonly readSignal: () => AbortSignal;
  readonly stop: () => void;
};

/** The end of one try: its time is up, or its caller has left. */
function startDeadline({ signal, most_ms, setTimer }: Attempt): Deadline {
  let isOver = false;
  let controller: AbortController | undefined;
  let fail: ((error: Error) => void) | undefined;
  const ended = new Promise<never>((_, reject) => (fail = reject));
  const end = () => {
    isOver = true;
    controller?.abort();
    fail?.(new Error("the time of this try is up"));
  };
  signal.addEventListener("abort", end, { once: true });
  const stopTimer = setTimer(end, most_ms);
  return {
    isOver: () => isOver,
    ended,
    readSignal: () => {
      controller ??= new AbortController();
      if (isOver) controller.abort();
      return controller.signal;
    },
    stop: () => {
      stopTimer();
      signal.removeEventListener("abort", end);
    },
  };
}

async function receive(attempt: Attempt, deadline: Deadline): Promise<Outcome> {
  const { endpoint, request, send, noteDate } = attempt;
  let reply: Reply;
  try {
    reply = await Promise.race([send(request, deadline.readSignal), deadline.ended]);
  } catch (error) {
    return explainThrown(error, deadline);
  }
  const { status } = reply;
  noteDate(reply.headers["date"]);
  if (status >= 300 && status < 400) {
    reply.discard();
    return failStrange(endpoint, `a redirect (status ${status}), which Waypost does not follow`);
  }
  const isOk = status >= 200 && status < 300;
  try {
    const form = endpoint.type === "text/html" ? "page" : "data";
    const body = await reply.readBody(isOk ? form : "words");
    return isOk ? readSuccess(attempt, reply, body) : readFailure(attempt, reply, body);
  } catch (error) {
    if (isOk && endpoint.effect !== "read") return readSuccess(attempt, reply, undefined);
    if (error instanceof ReplyTooLarge && isOk) return failStrange(endpoint, error.message);
    return explainThrown(error, deadline);
  }
}

/** Which 2xx it came with does not matter. */
function readSuccess({ endpoint, input, secret }: Attempt, reply: Reply, body: unknown): Outcome {
  const answer = readAnswer(endpoint, input, body);
  if (answer.kind === "read") {
    noteWarnings(answer.body, reply.headers["warning"], (text) => hideSecret(text, secret));
    return { kind: "answered", body: answer.body };
  }
  if (endpoint.effect !== "read") return { kind: "accepted", found: answer.found };
  return failStrange(endpoint, answer.found);
}

function readFailure(attempt: Attempt, reply: Reply, body: unknown): Outcome {
  const { endpoint, secret, remoteHost } = attempt;
  const { status } = reply;
  if (status === 429) return { kind: "limited" };
  const refusal = readRefusal({ endpoint, body, secret });
  if (status >= 500) return readOutage(reply, refusal, remoteHost);
  if (isForeign(status, body, refusal)) {
    if (endpoint.documented === false && status === 404) {
      return { kind: "refused", problem: notFound(messages.not_offered) };
    }
    const data = typeof body === "string" ? undefined : body;
    const words = refusal === undefined ? "" : `: ${quote(refusal.message)}`;
    return failStrange(endpoint, `the status ${status} and ${describeBody(data)}${words}`);
  }
  if (refusal === undefined) {
    return { kind: "refused", problem: new Problem(status, messages.unexplained(status)) };
  }
  const { message, problems } = refusal;
  const options = { ...(problems && { problems }), server: remoteHost };
  return { kind: "refused", problem: new Problem(status, message, options) };
}

/** After a 5xx it may have happened all the same, the API's own 503 included (§0). */
function readOutage(reply: Reply, refusal: Refusal | undefined, host: string | undefined): Outcome {
  const { status } = reply;
  const wait = status === 503 ? { wait_ms: readRetryAfter(reply) } : {};
  if (status === 503 && refusal !== undefined && saysNothingWritten(refusal.message)) {
    return { kind: "failed", failure: failOverloaded(refusal.message, wait.wait_ms) };
  }
  const message = refusal?.message;
  const words = host === undefined ? message : message && quote(message, Infinity);
  const who = host === undefined ? "Waypost" : `the server at ${host}`;
  const said = `${who} returned status ${status}${words === undefined ? "" : `: ${words}`}`;
  return { kind: "doubtful", reason: "failing", said, ...wait };
}

/** Whether something other than the API says no: a server without this address, or a proxy. */
function isForeign(status: number, body: unknown, refusal: Refusal | undefined): boolean {
  if (typeof body === "string" && isPage(body)) return true;
  const isData = body !== null && typeof body !== "string";
  return isData ? refusal === undefined : status === 404 || status === 421;
}

function failStrange({ effect }: Endpoint, found: string): Outcome {
  const message = `The server does not seem to offer this API: it returned ${found}.`;
  const facts = { effect: effect === "read" ? "none" : "unknown", retry: "never" } as const;
  return { kind: "failed", failure: new CallFailure("bad_response", message, facts) };
}

const leastWait_ms = 1000;
const mostWait_ms = 30_000;

/** A 503 asks us to wait, whether it says for how long or not. */
function readRetryAfter({ headers }: Reply): number {
  const asked_ms = Number(headers["retry-after"] ?? 0) * 1000;
  const wait_ms = Number.isNaN(asked_ms) ? leastWait_ms : asked_ms;
  return Math.min(Math.max(wait_ms, leastWait_ms), mostWait_ms);
}

function explainThrown(error: unknown, { isOver }: Deadline): Outcome {
  if (error instanceof NotSent) return { kind: "unsent", cause: error.cause };
  if (isOver()) {
    return { kind: "doubtful", reason: "timed_out", said: "the server did not respond in time" };
  }
  // The error itself may carry bytes that the server sent, so only its code is kept.
  const said = `the connection was lost${describeCode(error)}`;
  return { kind: "doubtful", reason: "broken_off", said };
}
