import type { Endpoint } from "../contract/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import { Problem } from "../contract/problem.ts";
import { isRepeatable } from "./retry.ts";

/** The possible outcomes of one attempt, and the errors that describe them. */

export type TryOutcome =
  | { readonly kind: "answered"; readonly body: unknown }
  /** A write succeeded with a 2xx status, but its response cannot be parsed. */
  | { readonly kind: "accepted"; readonly found: string }
  /** The server rejected the call, or a retry would not help. */
  | { readonly kind: "failed"; readonly error: Problem | CallFailure }
  /** No request was sent, so the call can be retried. */
  | { readonly kind: "unsent"; readonly error: CallFailure }
  /** The call must wait, because the key has reached its rate limit. */
  | { readonly kind: "limited"; readonly wait_ms: number }
  | UnknownOutcome;

/** The request may have had an effect, but no valid response arrived. */
type UnknownOutcome = {
  readonly kind: "doubtful";
  readonly reason: "timed_out" | "unreachable" | "overloaded";
  /** The reason, as a clause for the end of an error message. */
  readonly explanation: string;
  readonly wait_ms?: number | undefined;
};

export type FailedOutcome = Exclude<TryOutcome, { readonly kind: "answered" | "accepted" }>;

export type AttemptedCall = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
  /** The outcome of the latest attempt that may have had an effect. Set only for writes. */
  unknownOutcome: UnknownOutcome | undefined;
};

/** Codes for calls that failed without an error of the API. The API's own errors are `Problem`s. */
export type FailureCode =
  | "rate_limited"
  | "unreachable"
  | "timed_out"
  | "overloaded"
  | "outcome_unknown"
  | "bad_response"
  | "cancelled";

type FailureFacts = {
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

/** Describes a failed call. `checked` describes what a check on the server found. */
export function describeFailure(call: AttemptedCall, end: FailedOutcome, checked?: string): Error {
  // If an earlier attempt may have had an effect, report that instead of the last failure.
  const { unknownOutcome } = call;
  if (unknownOutcome !== undefined) return failUnknown(call, unknownOutcome, end, checked);
  if (end.kind === "failed" || end.kind === "unsent") return end.error;
  if (end.kind === "limited") return failLimited(end.wait_ms);
  // The call is a read, so it had no effect.
  const message = endSentence(`The request failed: ${end.explanation}`);
  if (end.reason === "overloaded") return failOverloaded(message, end.wait_ms);
  return new CallFailure(end.reason, message, { effect: "none", retry: "later" });
}

export function failCancelled({ endpoint, input, unknownOutcome }: AttemptedCall): CallFailure {
  if (unknownOutcome === undefined) return failCancelledUnsent();
  return new CallFailure(
    "cancelled",
    "The call was cancelled while it was running. It may have been carried out.",
    { effect: "unknown", retry: isRepeatable(endpoint, input) ? "now" : "never" },
  );
}

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

/** Returns the rejection if the server itself rejected the call. */
export function readProblem(end: FailedOutcome): Problem | undefined {
  return end.kind === "failed" && end.error instanceof Problem ? end.error : undefined;
}

/** Adds a period, unless the server's text already ends with punctuation. */
function endSentence(text: string): string {
  return /[.!?]"?$/.test(text) ? text : `${text}.`;
}

function failUnknown(
  { endpoint, input }: AttemptedCall,
  { explanation }: UnknownOutcome,
  end: FailedOutcome,
  checked: string | undefined,
): CallFailure {
  const refusal = readProblem(end);
  const message = [
    endSentence(`It is unknown whether the call took effect: ${explanation}`),
    ...(refusal ? [endSentence(`The server rejected a second attempt: ${refusal.message}`)] : []),
    ...(checked === undefined ? [] : [`Checked: ${checked}.`]),
  ].join(" ");
  const retry = isRepeatable(endpoint, input) ? "later" : "never";
  return new CallFailure("outcome_unknown", message, { effect: "unknown", retry });
}

/** Returns an error's code in parentheses. For an AggregateError, uses its first error. */
export function describeCode(error: unknown): string {
  if (!(error instanceof Error)) return "";
  if ("code" in error && typeof error.code === "string") return ` (${error.code})`;
  return describeCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}
