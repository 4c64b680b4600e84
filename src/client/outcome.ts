import type { Endpoint } from "../contract/endpoint.ts";
import { contract } from "../contract/index.ts";
import type { LinkFields } from "../contract/links.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Problem } from "../contract/problem.ts";
import { CallFailure, describeCode } from "./call-failure.ts";

/** The outcomes of one try, and the error that each of them becomes. */

export type TryOutcome =
  | { readonly kind: "answered"; readonly body: unknown }
  /** A write got a 2xx, so it happened, but its response cannot be read. */
  | { readonly kind: "accepted"; readonly found: string }
  /** The server rejected the call; nothing changed. */
  | { readonly kind: "refused"; readonly problem: Problem }
  /** The request was not sent, so it may be repeated. */
  | { readonly kind: "unsent"; readonly cause: unknown }
  | { readonly kind: "limited" }
  /** Another try would not help. */
  | { readonly kind: "failed"; readonly failure: CallFailure }
  | Doubt;

/** The call may have happened or not. */
type Doubt = {
  readonly kind: "doubtful";
  readonly reason: "timed_out" | "broken_off" | "failing";
  /** The reason for a person, as the end of a sentence. */
  readonly said: string;
  /** Set if the server asked to wait. */
  readonly wait_ms?: number;
};

export type Unanswered = Exclude<TryOutcome, { readonly kind: "answered" | "accepted" }>;

export type CallSoFar = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
  /** For a write: the latest try with an unknown effect. */
  doubt: Doubt | undefined;
};

const { links, projects } = contract;

/**
 * Whether a call may be sent again although the first try may have happened or still be running.
 */
export function isRepeatable({ tool, effect, idempotent }: Endpoint, input: JsonObject): boolean {
  if (effect === "read") return true;
  // Each try could create another short path. The cast is safe, because the types of `call`
  // restrict the input to this endpoint's fields.
  const isShortening = (input as LinkFields).options?.shorten === true;
  if (tool === links.upsert.tool && isShortening) return false;
  // Deleting a project deletes so much that a person confirms each attempt.
  return idempotent && tool !== projects.destroy.tool;
}

/** A 429 does not say how long to wait, so this is the window of the rate limits. */
const limitedFor_ms = 60_000;

/** `checked` describes what a check on the server showed. */
export function describeFailure(call: CallSoFar, end: Unanswered, checked?: string): Error {
  if (call.doubt !== undefined) {
    return failUnknown(call, call.doubt, checked, end.kind === "refused" ? end.problem : undefined);
  }
  switch (end.kind) {
    case "refused":
      return end.problem;
    case "limited":
      return failLimited(call, limitedFor_ms);
    case "unsent":
      return failUnsent(end.cause);
    case "failed":
      return end.failure;
    case "doubtful":
      return failRead(end);
  }
}

export function failCancelled({ endpoint, input, doubt }: CallSoFar): CallFailure {
  if (doubt === undefined) {
    const facts = { effect: "none", retry: "now" } as const;
    return new CallFailure("cancelled", "The call was cancelled; nothing was changed.", facts);
  }
  return new CallFailure(
    "cancelled",
    "The call was cancelled while it was running. It may have been carried out.",
    { effect: "unknown", retry: isRepeatable(endpoint, input) ? "now" : "never" },
  );
}

/** An earlier try with an unknown effect is more important than the rate limit. */
export function failLimited(call: CallSoFar, wait_ms: number): CallFailure {
  if (call.doubt !== undefined) return failUnknown(call, call.doubt);
  const retry_after_s = Math.max(1, Math.ceil(wait_ms / 1000));
  const message = `The key has reached its rate limit. Try again in ${retry_after_s} seconds.`;
  const facts = { effect: "none", retry: "later", retry_after_s } as const;
  return new CallFailure("rate_limited", message, facts);
}

export function failOverloaded(message: string, wait_ms: number | undefined): CallFailure {
  return new CallFailure("overloaded", message, { effect: "none", ...describeRetry(wait_ms) });
}

function failUnsent(cause: unknown): CallFailure {
  const message = `The server cannot be reached${describeCode(cause)}.`;
  const facts = { effect: "none", retry: "later" } as const;
  return new CallFailure("unreachable", message, facts, { cause });
}

const readCodes = {
  timed_out: "timed_out",
  broken_off: "unreachable",
  failing: "overloaded",
} as const;

/** A read changed nothing, so only the reason matters. */
function failRead({ reason, said, wait_ms }: Doubt): CallFailure {
  const message = endSentence(`The request failed: ${said}`);
  return new CallFailure(readCodes[reason], message, { effect: "none", ...describeRetry(wait_ms) });
}

function describeRetry(wait_ms: number | undefined) {
  const retry = "later" as const;
  return wait_ms === undefined ? { retry } : { retry, retry_after_s: Math.ceil(wait_ms / 1000) };
}

/** Adds a period, unless the server's text already ends with punctuation. */
function endSentence(text: string): string {
  return /[.!?]"?$/.test(text) ? text : `${text}.`;
}

function failUnknown(
  { endpoint, input }: CallSoFar,
  { said }: Doubt,
  checked?: string,
  refusal?: Problem,
): CallFailure {
  const again = refusal && endSentence(`The server rejected a second attempt: ${refusal.message}`);
  const message = [
    endSentence(`It is unknown whether the call took effect: ${said}`),
    ...(again === undefined ? [] : [again]),
    ...(checked === undefined ? [] : [`Checked: ${checked}.`]),
  ].join(" ");
  const retry = isRepeatable(endpoint, input) ? "later" : "never";
  return new CallFailure("outcome_unknown", message, { effect: "unknown", retry });
}
