import type { Endpoint } from "../contract/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import { Problem } from "../contract/problem.ts";
import { isRepeatable } from "./retry.ts";

/** The outcomes of one attempt, and the error for each of them. */

export type TryOutcome =
  | { readonly kind: "answered"; readonly body: unknown }
  /** A write succeeded with a 2xx status, but its response cannot be parsed. */
  | { readonly kind: "accepted"; readonly found: string }
  /** The server rejected the call, or a retry would not help. */
  | { readonly kind: "failed"; readonly error: Problem | CallFailure }
  /** The request was not sent, so it can be retried. */
  | { readonly kind: "unsent"; readonly error: CallFailure }
  /** The key has reached its rate limit and must wait. */
  | { readonly kind: "limited"; readonly wait_ms: number }
  | UnknownOutcome;

/** It is unknown whether the call had an effect. */
type UnknownOutcome = {
  readonly kind: "doubtful";
  readonly reason: "timed_out" | "unreachable" | "overloaded";
  /** The reason, as a phrase that completes a sentence. */
  readonly said: string;
  /** The retry delay, if the server sent one. */
  readonly wait_ms?: number | undefined;
};

export type FailedOutcome = Exclude<TryOutcome, { readonly kind: "answered" | "accepted" }>;

export type CallSoFar = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
  /** The latest attempt of a write whose effect is unknown. */
  unknownOutcome: UnknownOutcome | undefined;
};

/** Error codes of failed connections. A rejection by the server itself is a `Problem`. */
export type FailureCode =
  | "rate_limited"
  | "unreachable"
  | "timed_out"
  | "overloaded"
  | "outcome_unknown"
  | "bad_response"
  | "cancelled";

type FailureFacts = {
  /** Whether the call changed anything on the server. */
  readonly effect: "none" | "unknown" | "done";
  readonly retry: "never" | "now" | "later";
  readonly retry_after_s?: number;
};

export class CallFailure extends Error {
  override readonly name = "CallFailure";
  readonly code: FailureCode;
  readonly facts: FailureFacts;

  constructor(code: FailureCode, message: string, facts: FailureFacts, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.facts = facts;
  }
}

/** Describes a failed call. `checked` is the result of a check on the server. */
export function describeFailure(call: CallSoFar, end: FailedOutcome, checked?: string): Error {
  // An earlier attempt may have had an effect, which matters more than the last one's failure.
  const { unknownOutcome } = call;
  if (unknownOutcome !== undefined) return failUnknown(call, unknownOutcome, end, checked);
  if (end.kind === "failed" || end.kind === "unsent") return end.error;
  if (end.kind === "limited") return failLimited(end.wait_ms);
  // A failed read has no effect to report.
  const message = endSentence(`The request failed: ${end.said}`);
  if (end.reason === "overloaded") return failOverloaded(message, end.wait_ms);
  return new CallFailure(end.reason, message, { effect: "none", retry: "later" });
}

export function failCancelled({ endpoint, input, unknownOutcome }: CallSoFar): CallFailure {
  if (unknownOutcome === undefined) return failCancelledUnsent();
  return new CallFailure(
    "cancelled",
    "The call was cancelled while it was running. It may have been carried out.",
    { effect: "unknown", retry: isRepeatable(endpoint, input) ? "now" : "never" },
  );
}

/** The error for a call that was cancelled before it could change anything. */
export function failCancelledUnsent(): CallFailure {
  const message = "The call was cancelled; nothing was changed.";
  return new CallFailure("cancelled", message, { effect: "none", retry: "now" });
}

function failLimited(wait_ms: number): CallFailure {
  const retry_after_s = Math.max(1, Math.ceil(wait_ms / 1000));
  const message = `The key has reached its rate limit. Try again in ${retry_after_s} seconds.`;
  const facts = { effect: "none", retry: "later", retry_after_s } as const;
  return new CallFailure("rate_limited", message, facts);
}

export function failOverloaded(message: string, wait_ms?: number): CallFailure {
  const wait = wait_ms !== undefined && { retry_after_s: Math.ceil(wait_ms / 1000) };
  return new CallFailure("overloaded", message, { effect: "none", retry: "later", ...wait });
}

/** Returns the server's own rejection, if any. */
export function readProblem(end: FailedOutcome): Problem | undefined {
  return end.kind === "failed" && end.error instanceof Problem ? end.error : undefined;
}

/** Adds a period, unless the server's text already ends with punctuation. */
function endSentence(text: string): string {
  return /[.!?]"?$/.test(text) ? text : `${text}.`;
}

function failUnknown(
  { endpoint, input }: CallSoFar,
  { said }: UnknownOutcome,
  end: FailedOutcome,
  checked: string | undefined,
): CallFailure {
  const refusal = readProblem(end);
  const message = [
    endSentence(`It is unknown whether the call took effect: ${said}`),
    ...(refusal ? [endSentence(`The server rejected a second attempt: ${refusal.message}`)] : []),
    ...(checked === undefined ? [] : [`Checked: ${checked}.`]),
  ].join(" ");
  const retry = isRepeatable(endpoint, input) ? "later" : "never";
  return new CallFailure("outcome_unknown", message, { effect: "unknown", retry });
}

/** Returns the error code in parentheses. An AggregateError contains one error per IP address. */
export function describeCode(error: unknown): string {
  if (!(error instanceof Error)) return "";
  if ("code" in error && typeof error.code === "string") return ` (${error.code})`;
  return describeCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}
