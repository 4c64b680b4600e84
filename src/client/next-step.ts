import { describeFailure, type CallSoFar } from "./explain-end.ts";
import type { Finding } from "./find-written.ts";
import { readRetryPolicy } from "./retry-policy.ts";
import type { Doubt, Unanswered } from "./send-once.ts";

/** What follows from how a try ended. */
export type NextStep =
  | { readonly kind: "done"; readonly body: unknown }
  | { readonly kind: "repeat" }
  /** First look for what the call has written, then ask again with what was found. */
  | { readonly kind: "look" }
  | { readonly kind: "over"; readonly failure: Error };

/**
 * Decides whether a call is done, is tried again, or is over (security-reliability.md §3).
 * `finding` is what a look has found, undefined before there was one; `mayRepeat` says whether
 * tries and time are left for another try.
 */
export function chooseNextStep(
  call: CallSoFar,
  outcome: Unanswered,
  mayRepeat: boolean,
  finding?: Finding,
): NextStep {
  switch (outcome.kind) {
    case "unsent":
    case "limited":
      return mayRepeat ? { kind: "repeat" } : endWith(call, outcome);
    case "held":
      return resolveHeld(call, outcome, finding);
    case "strange":
      return endWith(call, outcome);
    case "refused":
      return resolveRefusal(call, outcome, finding);
    case "doubtful":
      return resolveDoubt(call, outcome, mayRepeat, finding);
  }
}

/** It was waited for over there: to go on waiting would hold up others who write. */
function resolveHeld(call: CallSoFar, outcome: Unanswered, finding: Finding | undefined): NextStep {
  const { doubt } = call;
  return doubt === undefined ? endWith(call, outcome) : resolveDoubt(call, doubt, false, finding);
}

function resolveDoubt(
  call: CallSoFar,
  outcome: Doubt,
  mayRepeat: boolean,
  finding: Finding | undefined,
): NextStep {
  const isRead = call.endpoint.effect === "read";
  const repeat = readRetryPolicy(call.endpoint, call.input);
  if (finding === undefined) {
    if ((isRead || repeat === "safe") && mayRepeat) return { kind: "repeat" };
    return isRead ? endWith(call, outcome) : { kind: "look" };
  }
  if (finding.kind === "done") return finding;
  const isHarmless = repeat === "safe" || (repeat === "after_look" && finding.kind === "undone");
  if (isHarmless && mayRepeat) return { kind: "repeat" };
  return endWith(call, outcome, finding.checked);
}

/** An earlier try may have done what this one was refused for: then it is done. */
function resolveRefusal(
  call: CallSoFar,
  outcome: Unanswered & { readonly kind: "refused" },
  finding: Finding | undefined,
): NextStep {
  const { endpoint, doubt } = call;
  const over: NextStep = { kind: "over", failure: outcome.problem };
  if (doubt === undefined || endpoint.effect === "read") return over;
  if (outcome.problem.status === 404 && endpoint.method === "DELETE") {
    return { kind: "done", body: null };
  }
  if (finding === undefined) return { kind: "look" };
  if (finding.kind === "done") return finding;
  // The earlier try was the same call, and nothing is there of it: it was refused as well.
  return finding.kind === "undone" ? over : endWith(call, outcome, finding.checked);
}

function endWith(call: CallSoFar, outcome: Unanswered, checked?: string): NextStep {
  return { kind: "over", failure: describeFailure(call, outcome, checked) };
}
