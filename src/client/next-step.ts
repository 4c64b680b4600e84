import { describeFailure, failCancelled, type End } from "./explain-end.ts";
import { writeFinders, type Ask, type Finding } from "./find-written.ts";
import { pickFields } from "./request.ts";
import { readRetryPolicy } from "./retry-policy.ts";
import type { Doubt, Outcome } from "./send-once.ts";

/** What follows from how a try ended: the call is done, is tried again, or is over. */
export type Next =
  | { readonly kind: "done"; readonly body: unknown }
  | { readonly kind: "again" }
  | { readonly kind: "over"; readonly failure: Error };

export type TryEnd = End & {
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

export async function chooseNextStep(end: TryEnd, outcome: Unanswered): Promise<Next> {
  switch (outcome.kind) {
    case "unsent":
    case "limited":
      return end.mayRepeat() ? { kind: "again" } : endWith(end, outcome);
    case "strange":
      return endWith(end, outcome);
    case "refused":
      return resolveRefusal(end, outcome);
    case "doubtful":
      return resolveDoubt(end, outcome);
  }
}

async function resolveDoubt(end: TryEnd, outcome: Doubt): Promise<Next> {
  const { endpoint, input, mayRepeat } = end;
  const isRead = endpoint.effect === "read";
  const repeat = readRetryPolicy(endpoint, input);
  // What was accepted is not sent again before we have looked for it.
  const isSafe = isRead || (repeat === "safe" && outcome.reason !== "reply_lost");
  if (isSafe && mayRepeat()) return { kind: "again" };
  if (isRead) return endWith(end, outcome);
  const finding = await lookBack(end);
  if (finding.kind === "done") return finding;
  const isHarmless = repeat === "safe" || (repeat === "after_look" && finding.kind === "undone");
  if (isHarmless && mayRepeat()) return { kind: "again" };
  return endWith(end, outcome, finding.checked);
}

/** An earlier try may have done what this one was refused for: then it is done. */
async function resolveRefusal(
  end: TryEnd,
  outcome: Outcome & { readonly kind: "refused" },
): Promise<Next> {
  const { endpoint, doubt } = end;
  const over: Next = { kind: "over", failure: outcome.problem };
  if (doubt === undefined || endpoint.effect === "read") return over;
  if (outcome.problem.status === 404 && endpoint.method === "DELETE") {
    return { kind: "done", body: null };
  }
  const finding = await lookBack(end);
  if (finding.kind === "done") return finding;
  // The earlier try was no other call, and nothing is there of it: it was refused as well.
  return finding.kind === "undone" ? over : endWith(end, outcome, finding.checked);
}

async function lookBack(end: TryEnd): Promise<Finding> {
  const { endpoint, input, signal, since, isSameTime, ask, pause } = end;
  const findWritten = writeFinders[endpoint.tool];
  let finding: Finding = { kind: "unclear", checked: "nothing: there is no way to look for it" };
  if (findWritten === undefined) return finding;
  // Where nothing is sent again, what is not there yet may still come.
  const isPatient = readRetryPolicy(endpoint, input) === "never";
  for (const wait_ms of isPatient ? lookAfter_ms : lookAfter_ms.slice(0, 1)) {
    if (!(await pause(wait_ms))) break;
    const sent = pickFields(endpoint, input);
    const look = { ask, id: String(input["id"]), sent, since, isSameTime };
    finding = await findWritten(look).catch((error: unknown): Finding => {
      if (signal.aborted) throw failCancelled(end);
      const reason = error instanceof Error ? error.message : "";
      return { kind: "unclear", checked: `nothing: looking for it failed (${reason})` };
    });
    if (finding.kind !== "undone") break;
  }
  return finding;
}

function endWith(
  end: TryEnd,
  outcome: Exclude<Outcome, { readonly kind: "answered" }>,
  checked?: string,
): Next {
  return { kind: "over", failure: describeFailure(end, outcome, checked) };
}
