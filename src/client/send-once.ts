import type { ApiReply, ApiRequest } from "../contract/api-message.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import { messages } from "../contract/messages.ts";
import { notFound, Problem, saysNothingWritten } from "../contract/problem.ts";
import { quote } from "../text/show-hidden.ts";
import type { ClockSkew } from "./clock-skew.ts";
import { describeBody, readAnswer, type Unread } from "./read-answer.ts";
import { hideSecret, isPage, readRefusal, type Refusal } from "./read-refusal.ts";
import { ReplyTooLarge, type BodyForm } from "./read-reply.ts";
import type { TryDeadline } from "./try-deadline.ts";
import { noteWarnings } from "./warnings.ts";

/** One try at a call, and what can be known from how it ended (security-reliability.md §2.2). */

/** The way to a deployment: over the network, or to the service in this process. */
export type Send = (request: ApiRequest, readSignal: () => AbortSignal) => Promise<Reply>;

/** A reply whose status is there; its body may still be on the way, and may never arrive. */
type Reply = Omit<ApiReply, "body"> & {
  /** Undefined for what has not that form, null for no body at all. */
  readonly readBody: (form: BodyForm) => Promise<unknown>;
  /** Drops a body that is not read. */
  readonly discard: () => void;
};

/** Thrown by a `Send` that knows that no byte of the request left. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

export type Outcome =
  | { readonly kind: "answered"; readonly body: unknown }
  | Accepted
  /** The deployment said no: nothing changed. */
  | { readonly kind: "refused"; readonly problem: Problem }
  /** The request never left, so anything may be tried again. */
  | { readonly kind: "unsent"; readonly cause: unknown }
  | { readonly kind: "limited" }
  | Held
  | Doubt
  /** An answer that this API does not give: another server, or something between. */
  | { readonly kind: "strange"; readonly said: string };

export type Unanswered = Exclude<Outcome, { readonly kind: "answered" | "accepted" }>;

/** A 2xx came to a write, so that it is done, but not what became of it. */
export type Accepted = Omit<Unread, "kind"> & { readonly kind: "accepted" };

/** The deployment could not write for now, and says that it has not. */
export type Held = {
  readonly kind: "held";
  readonly message: string;
  readonly wait_ms?: number;
};

/** It may have happened or not. */
export type Doubt = {
  readonly kind: "doubtful";
  readonly reason: "timed_out" | "broken_off" | "failing";
  /** The same for a person, as the end of a sentence. */
  readonly said: string;
  /** Where the deployment asked us to wait. */
  readonly wait_ms?: number;
};

type Try = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
  readonly request: ApiRequest;
  readonly send: Send;
  readonly tryDeadline: TryDeadline;
  readonly skew: Pick<ClockSkew, "note">;
  /** The key: a deployment may repeat it in its words, and the assistant reads those. */
  readonly secret: string | undefined;
  /** The host name of a remote server; undefined for our own service. */
  readonly remoteHost: string | undefined;
};

export async function sendOnce(asked: Try): Promise<Outcome> {
  const { endpoint, request, send, tryDeadline, skew } = asked;
  let response: Reply;
  try {
    response = await Promise.race([send(request, tryDeadline.readSignal), tryDeadline.ended]);
  } catch (error) {
    return explainThrown(error, tryDeadline);
  }
  skew.note(response.headers["date"]);
  if (response.status >= 300 && response.status < 400) {
    response.discard();
    return strange(`a redirect (status ${response.status}), which Waypost does not follow`);
  }
  try {
    const form = endpoint.type === "text/html" ? "page" : "data";
    const body = await response.readBody(isOk(response) ? form : "words");
    return readOutcome(asked, response, body);
  } catch (error) {
    if (endpoint.effect !== "read" && isOk(response)) return readSuccess(asked, undefined);
    if (endpoint.effect === "read" && error instanceof ReplyTooLarge) return strange(error.message);
    return explainThrown(error, tryDeadline);
  }
}

function isOk({ status }: Reply): boolean {
  return status >= 200 && status < 300;
}

function readOutcome(asked: Try, response: Reply, body: unknown): Outcome {
  const { endpoint, secret, remoteHost } = asked;
  const { status } = response;
  if (status === 429) return { kind: "limited" };
  if (isOk(response)) {
    const outcome = readSuccess(asked, body);
    const { warning } = response.headers;
    const hide = (text: string) => hideSecret(text, secret);
    if (outcome.kind === "answered") noteWarnings(outcome.body, warning, hide);
    return outcome;
  }
  const refusal = readRefusal({ endpoint, body, secret });
  if (status === 503 && refusal !== undefined && saysNothingWritten(refusal.message)) {
    return { kind: "held", message: refusal.message, ...readRetryAfter(response) };
  }
  // After any other 5xx it may have happened all the same, the API's own 503 included (§0).
  if (status >= 500) {
    const said = describeFailing(status, refusal?.message, remoteHost);
    return { kind: "doubtful", reason: "failing", said, ...readRetryAfter(response) };
  }
  if (isForeign(status, body, refusal)) {
    const isGuess = endpoint.documented === false && status === 404;
    if (isGuess) return { kind: "refused", problem: notFound(messages.not_offered) };
    const words = refusal === undefined ? "" : `: ${quote(refusal.message)}`;
    const data = typeof body === "string" ? undefined : body;
    return strange(`the status ${status} and ${describeBody(data)}${words}`);
  }
  if (refusal === undefined) {
    return { kind: "refused", problem: new Problem(status, messages.unexplained(status)) };
  }
  const { message, problems } = refusal;
  const options = { ...(problems && { problems }), server: remoteHost };
  return { kind: "refused", problem: new Problem(status, message, options) };
}

/** A server's words inside a sentence of Waypost's. */
function describeFailing(
  status: number,
  message: string | undefined,
  host: string | undefined,
): string {
  if (host === undefined) {
    return `Waypost returned status ${status}${message === undefined ? "" : `: ${message}`}`;
  }
  const words = message === undefined ? "" : `: ${quote(message, Infinity)}`;
  return `the server at ${host} returned status ${status}${words}`;
}

/**
 * Whether something else than the API says no: a server that has no such address, or what stands
 * between.
 */
function isForeign(status: number, body: unknown, refusal: Refusal | undefined): boolean {
  if (typeof body === "string" && isPage(body)) return true;
  const isData = body !== null && typeof body !== "string";
  if (isData) return refusal === undefined;
  return status === 404 || status === 421;
}

/** What tells enough is the answer, whichever 2xx it came with; a login page never does. */
function readSuccess({ endpoint, input }: Try, body: unknown): Outcome {
  const answer = readAnswer(endpoint, input, body);
  if (answer.kind === "read") return { kind: "answered", body: answer.body };
  return endpoint.effect === "read" ? strange(answer.found) : { ...answer, kind: "accepted" };
}

function strange(found: string): Outcome {
  return {
    kind: "strange",
    said: `The server does not seem to offer this API: it returned ${found}.`,
  };
}

const leastWait_ms = 1000;
const mostWait_ms = 30_000;

/** A 503 asks us to wait, whether it says for how long or not. */
function readRetryAfter({ status, headers }: Reply): { readonly wait_ms?: number } {
  if (status !== 503) return {};
  const asked_ms = Number(headers["retry-after"] ?? 0) * 1000;
  const wait_ms = Number.isNaN(asked_ms) ? leastWait_ms : asked_ms;
  return { wait_ms: Math.min(Math.max(wait_ms, leastWait_ms), mostWait_ms) };
}

function explainThrown(error: unknown, { isOver }: TryDeadline): Outcome {
  if (error instanceof NotSent) return { kind: "unsent", cause: error.cause };
  if (isOver()) {
    return { kind: "doubtful", reason: "timed_out", said: "the server did not respond in time" };
  }
  // The error itself may carry bytes that the deployment sent, so only its code is kept.
  const said = `the connection was lost${describeCode(error)}`;
  return { kind: "doubtful", reason: "broken_off", said };
}

/** The code of an error in brackets; several addresses fail with an AggregateError. */
export function describeCode(error: unknown): string {
  if (!(error instanceof Error)) return "";
  if ("code" in error && typeof error.code === "string") return ` (${error.code})`;
  return describeCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}
