import { describeFailure, failCancelled, type End } from "./explain-end.ts";
import { readBacks, type Ask, type Finding } from "./find-written.ts";
import { pickFields } from "./request.ts";
import { readRepeat } from "./retry-policy.ts";
import type { Doubt, Outcome } from "./send-once.ts";

/** What follows from how a try ended: the call is done, is tried again, or is over. */
export type Next =
  | { readonly kind: "done"; readonly body: unknown }
  | { readonly kind: "again" }
  | { readonly kind: "over"; readonly failure: Error };

export type Settling = End & {
  readonly signal: AbortSignal;
  readonly since: string;
  /** Whether the deployment's clock goes as ours. */
  readonly isSameTime: () => boolean;
  /** Whether there are tries and time left for another one. */
  readonly mayRepeat: () => boolean;
  readonly ask: Ask;
  /** Waits, or answers false where there is no time for it. */
  readonly pause: (milliseconds: number) => Promise<boolean>;
};

type Unanswered = Exclude<Outcome, { readonly kind: "answered" }>;

/** A call that may still be running over there gets this long before we look for its work. */
const lookAfter_ms = [500, 2000, 4000] as const;

export async function settle(settling: Settling, outcome: Unanswered): Promise<Next> {
  switch (outcome.kind) {
    case "unsent":
    case "limited":
      return settling.mayRepeat() ? { kind: "again" } : endWith(settling, outcome);
    case "strange":
      return endWith(settling, outcome);
    case "refused":
      return settleRefusal(settling, outcome);
    case "doubtful":
      return settleDoubt(settling, outcome);
  }
}

async function settleDoubt(settling: Settling, outcome: Doubt): Promise<Next> {
  const { endpoint, input, mayRepeat } = settling;
  const isRead = endpoint.effect === "read";
  const repeat = readRepeat(endpoint, input);
  // What was accepted is not sent again before we have looked for it.
  const isSafe = isRead || (repeat === "safe" && outcome.reason !== "reply_lost");
  if (isSafe && mayRepeat()) return { kind: "again" };
  if (isRead) return endWith(settling, outcome);
  const finding = await lookBack(settling);
  if (finding.kind === "done") return finding;
  const isHarmless = repeat === "safe" || (repeat === "after_look" && finding.kind === "undone");
  if (isHarmless && mayRepeat()) return { kind: "again" };
  return endWith(settling, outcome, finding.checked);
}

/** An earlier try may have done what this one was refused for: then it is done. */
async function settleRefusal(
  settling: Settling,
  outcome: Outcome & { readonly kind: "refused" },
): Promise<Next> {
  const { endpoint, doubt } = settling;
  const over: Next = { kind: "over", failure: outcome.problem };
  if (doubt === undefined || endpoint.effect === "read") return over;
  if (outcome.problem.status === 404 && endpoint.method === "DELETE") {
    return { kind: "done", body: null };
  }
  const finding = await lookBack(settling);
  if (finding.kind === "done") return finding;
  // The earlier try was no other call, and nothing is there of it: it was refused as well.
  return finding.kind === "undone" ? over : endWith(settling, outcome, finding.checked);
}

async function lookBack(settling: Settling): Promise<Finding> {
  const { endpoint, input, signal, since, isSameTime, ask, pause } = settling;
  const readBack = readBacks[endpoint.tool];
  let finding: Finding = { kind: "unclear", checked: "nothing: there is no way to look for it" };
  if (readBack === undefined) return finding;
  // Where nothing is sent again, what is not there yet may still come.
  const isPatient = readRepeat(endpoint, input) === "never";
  for (const wait_ms of isPatient ? lookAfter_ms : lookAfter_ms.slice(0, 1)) {
    if (!(await pause(wait_ms))) break;
    const sent = pickFields(endpoint, input);
    const look = { ask, id: String(input["id"]), sent, since, isSameTime };
    finding = await readBack(look).catch((error: unknown): Finding => {
      if (signal.aborted) throw failCancelled(settling);
      const reason = error instanceof Error ? error.message : "";
      return { kind: "unclear", checked: `nothing: looking for it failed (${reason})` };
    });
    if (finding.kind !== "undone") break;
  }
  return finding;
}

function endWith(
  settling: Settling,
  outcome: Exclude<Outcome, { readonly kind: "answered" }>,
  checked?: string,
): Next {
  return { kind: "over", failure: describeFailure(settling, outcome, checked) };
}
