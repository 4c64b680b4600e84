import type { Endpoint } from "../contract/endpoint.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Problem } from "../contract/problem.ts";
import { CallFailure } from "./call-failure.ts";
import { readRetryPolicy } from "./retry-policy.ts";
import { describeCode, type Doubt, type Held, type Unanswered } from "./send-once.ts";

/** The code with which a call fails, and what is known of its effect. */

export type CallSoFar = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
  /** How the latest try ended whose effect is unknown; undefined where there was none. */
  doubt: Doubt | undefined;
};

/** A 429 names no time, so we name one: the window of the budgets. */
const limitedFor_s = 60;

export function describeFailure(
  call: CallSoFar,
  fault: Unanswered,
  checked?: string,
): CallFailure | Problem {
  const { endpoint, doubt } = call;
  if (fault.kind === "strange") return failStrange(endpoint, fault.said);
  if (doubt !== undefined && endpoint.effect !== "read") {
    const words = fault.kind === "refused" ? fault.problem.message : undefined;
    return failUnknown(call, doubt, checked, words);
  }
  switch (fault.kind) {
    case "refused":
      return fault.problem;
    case "limited":
      return failLimited(call, limitedFor_s * 1000);
    case "unsent":
      return failUnsent(fault.cause);
    case "held":
      return failHeld(fault);
    case "doubtful":
      return failRead(fault);
  }
}

export function failCancelled({ endpoint, input, doubt }: CallSoFar): CallFailure {
  if (doubt === undefined || endpoint.effect === "read") {
    const facts = { effect: "none", retry: "now" } as const;
    return new CallFailure("cancelled", "The call was cancelled; nothing was changed.", facts);
  }
  return new CallFailure(
    "cancelled",
    "The call was cancelled while it was running. It may have been carried out.",
    { effect: "unknown", retry: readRetryPolicy(endpoint, input) === "never" ? "never" : "now" },
  );
}

/** Where an earlier try is in doubt, that is what has to be said. */
export function failLimited(call: CallSoFar, wait_ms: number): CallFailure {
  const { endpoint, doubt } = call;
  if (doubt !== undefined && endpoint.effect !== "read") return failUnknown(call, doubt);
  const retry_after_s = Math.max(1, Math.ceil(wait_ms / 1000));
  const message = `The key has reached its rate limit. Try again in ${retry_after_s} seconds.`;
  const facts = { effect: "none", retry: "later", retry_after_s } as const;
  return new CallFailure("rate_limited", message, facts);
}

function failHeld({ message, wait_ms }: Held): CallFailure {
  return new CallFailure("overloaded", message, { effect: "none", ...comeBack(wait_ms) });
}

function failUnsent(cause: unknown): CallFailure {
  const message = `The server cannot be reached${describeCode(cause)}.`;
  const facts = { effect: "none", retry: "later" } as const;
  return new CallFailure("unreachable", message, facts, { cause });
}

function failStrange({ effect }: Endpoint, said: string): CallFailure {
  const facts = { effect: effect === "read" ? "none" : "unknown", retry: "never" } as const;
  return new CallFailure("bad_response", said, facts);
}

const readCodes = {
  timed_out: "timed_out",
  broken_off: "unreachable",
  failing: "overloaded",
} as const;

/** A read that was in doubt changed nothing, so only the reason is worth telling. */
function failRead({ reason, said, wait_ms }: Doubt): CallFailure {
  const message = endSentence(`The request failed: ${said}`);
  return new CallFailure(readCodes[reason], message, { effect: "none", ...comeBack(wait_ms) });
}

function comeBack(wait_ms: number | undefined) {
  const retry = "later" as const;
  return wait_ms === undefined ? { retry } : { retry, retry_after_s: Math.ceil(wait_ms / 1000) };
}

/** What the deployment said may end with a sign of its own. */
function endSentence(text: string): string {
  return /[.!?]"?$/.test(text) ? text : `${text}.`;
}

/** `words` is what the deployment said when it was asked again. */
function failUnknown(
  { endpoint, input }: CallSoFar,
  { said }: Doubt,
  checked?: string,
  words?: string,
): CallFailure {
  const message = [
    endSentence(`It is unknown whether the call took effect: ${said}`),
    ...(words === undefined ? [] : [endSentence(`The server rejected a second attempt: ${words}`)]),
    ...(checked === undefined ? [] : [`Checked: ${checked}.`]),
  ].join(" ");
  const retry = readRetryPolicy(endpoint, input) === "never" ? "never" : "later";
  return new CallFailure("outcome_unknown", message, { effect: "unknown", retry });
}
