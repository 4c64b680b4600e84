import type { ApiReply, ApiRequest } from "../contract/api-message.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Leaving } from "../contract/waiting.ts";
import { messages } from "../contract/messages.ts";
import { notFound, Problem, saysNothingWritten } from "../contract/problem.ts";
import { quote } from "../text/show-hidden.ts";
import { CallFailure, describeCode } from "./call-failure.ts";
import { failOverloaded, type TryOutcome } from "./outcome.ts";
import { describeBody, noteWarnings, readAnswer } from "./read-answer.ts";
import { hideSecret, isPage, readRefusal, type ServerRefusal } from "./read-refusal.ts";

/** Sends a call once and reads how it ended. */

/** A way to the server: over the network, or to the service in this process. */
export type Send = (request: ApiRequest, readSignal: () => AbortSignal) => Promise<ArrivingReply>;

/** A reply whose status has arrived. Its body may still be missing, and may never arrive. */
type ArrivingReply = Omit<ApiReply, "body"> & {
  /** Undefined if the body does not have that form, null if it is empty. */
  readonly readBody: (form: BodyForm) => Promise<unknown>;
  /** Drops a body that is not needed. */
  readonly discard: () => void;
};

/** How to read a body: as JSON, as a page, or as the text of an error. */
export type BodyForm = "data" | "page" | "words";

export class ReplyTooLarge extends Error {
  override readonly name = "ReplyTooLarge";
}

/** Thrown by a `Send` if certainly no byte of the request was sent. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

/** Calls `ring` once after the given time. The returned function stops the timer. */
export type SetTimer = (ring: () => void, milliseconds: number) => () => void;

type Attempt = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
  readonly request: ApiRequest;
  readonly send: Send;
  readonly signal: Leaving;
  readonly most_ms: number;
  readonly setTimer: SetTimer;
  /** Gets the `Date` header of a reply. */
  readonly noteDate: (date: string | undefined) => void;
  /** The key, which is removed because servers may repeat it and assistants read the message. */
  readonly secret: string | undefined;
  /** The host name of a remote server; undefined for Waypost's own service. */
  readonly remoteHost: string | undefined;
};

export async function sendOnce(attempt: Attempt): Promise<TryOutcome> {
  const deadline = startDeadline(attempt);
  try {
    return await receive(attempt, deadline);
  } finally {
    deadline.stop();
  }
}

type Deadline = {
  readonly isOver: () => boolean;
  /** Rejects at the end, because not every `Send` respects a signal. */
  readonly ended: Promise<never>;
  /** Created on demand, because a signal costs more than a call within this process. */
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

async function receive(attempt: Attempt, deadline: Deadline): Promise<TryOutcome> {
  const { endpoint, request, send, noteDate } = attempt;
  let reply: ArrivingReply;
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

/** The exact 2xx status does not matter. */
function readSuccess(
  { endpoint, input, secret }: Attempt,
  reply: ArrivingReply,
  body: unknown,
): TryOutcome {
  const answer = readAnswer(endpoint, input, body);
  if (answer.kind === "read") {
    noteWarnings(answer.body, reply.headers["warning"], (text) => hideSecret(text, secret));
    return { kind: "answered", body: answer.body };
  }
  if (endpoint.effect !== "read") return { kind: "accepted", found: answer.found };
  return failStrange(endpoint, answer.found);
}

function readFailure(attempt: Attempt, reply: ArrivingReply, body: unknown): TryOutcome {
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

/** The write may have happened despite a 5xx, even after the API's own 503. */
function readOutage(
  reply: ArrivingReply,
  refusal: ServerRefusal | undefined,
  host: string | undefined,
): TryOutcome {
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

/** Whether something other than the API answered: another server, or a proxy. */
function isForeign(status: number, body: unknown, refusal: ServerRefusal | undefined): boolean {
  if (typeof body === "string" && isPage(body)) return true;
  const isData = body !== null && typeof body !== "string";
  return isData ? refusal === undefined : status === 404 || status === 421;
}

function failStrange({ effect }: Endpoint, found: string): TryOutcome {
  const message = `The server does not seem to offer this API: it returned ${found}.`;
  const facts = { effect: effect === "read" ? "none" : "unknown", retry: "never" } as const;
  return { kind: "failed", failure: new CallFailure("bad_response", message, facts) };
}

const leastWait_ms = 1000;
const mostWait_ms = 30_000;

/** A 503 asks to wait, with or without a time. */
function readRetryAfter({ headers }: ArrivingReply): number {
  const asked_ms = Number(headers["retry-after"] ?? 0) * 1000;
  const wait_ms = Number.isNaN(asked_ms) ? leastWait_ms : asked_ms;
  return Math.min(Math.max(wait_ms, leastWait_ms), mostWait_ms);
}

function explainThrown(error: unknown, { isOver }: Deadline): TryOutcome {
  if (error instanceof NotSent) return { kind: "unsent", cause: error.cause };
  if (isOver()) {
    return { kind: "doubtful", reason: "timed_out", said: "the server did not respond in time" };
  }
  // The error may contain bytes from the server, so only its code is kept.
  const said = `the connection was lost${describeCode(error)}`;
  return { kind: "doubtful", reason: "broken_off", said };
}
