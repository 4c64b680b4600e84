import type { Readable } from "node:stream";
import type { PlanResult } from "../../bulk/plan/make-plan.ts";
import { findCountToType, presentPlan } from "../../bulk/present.ts";
import type { Unit } from "../../bulk/rows/check-rows.ts";
import { countPlannedWrites, isFaulty, type Plan } from "../../state/plans.ts";
import { confirmAtTerminal } from "../terminal/ask-to-go-on.ts";
import { openScreen, print, printJson, say } from "../terminal/output.ts";
import { describeDuration, describePlan, showLine } from "./describe-plan.ts";
import { followJob } from "./follow-job.ts";
import { reportJob } from "./report-job.ts";
import type { BulkSession } from "./bulk-session.ts";

/** From a plan to its receipt: shown, confirmed at the prompt, applied. */

export type Confirming = {
  readonly unit: Unit;
  readonly isJson: boolean;
  /** Whether the person has said yes beforehand. */
  readonly isSure: boolean;
  /** Where a person types; undefined where no person can be asked. */
  readonly input: Readable | undefined;
};

/** Answers whether everything that was wanted is done. */
export async function confirmAndApply(
  session: BulkSession,
  made: PlanResult,
  confirming: Confirming,
): Promise<boolean> {
  const { plan, unmapped, warnings } = made;
  const { unit, isJson } = confirming;
  const { counts, problems } = plan;
  for (const line of await describePlan(made, session.bulk, unit)) say(line);
  const shown = await presentPlan(plan, session.bulk);
  const beside = { plan: { ...shown, problems, unmapped, warnings } };
  const conclude = (sentence: string) => {
    if (isJson) printJson(beside);
    (isJson ? say : print)(sentence);
  };
  if (isFaulty(plan)) {
    conclude("Nothing was changed. Fix the problems above and try again.");
    return false;
  }
  if (countPlannedWrites(counts) === 0) {
    conclude("There is nothing to change.");
    return counts.conflict === 0;
  }
  if (!(await confirm(session, plan, confirming))) {
    conclude("Nothing was changed.");
    return false;
  }
  const job = await followJob(session, plan, openScreen());
  const isWhole = await reportJob(session, job, { unit, isJson, beside });
  if (counts.conflict > 0) say(await describeLeftOut(session, plan, unit));
  return isWhole && counts.conflict === 0;
}

async function describeLeftOut({ bulk }: BulkSession, plan: Plan, unit: Unit): Promise<string> {
  const { conflict } = plan.counts;
  const count = conflict === 1 ? "1 row was left out" : `${conflict} rows were left out`;
  const [first] = await bulk.listRows(plan, { actions: ["conflict"], limit: 1 });
  const { row = null, message = null } = first ?? {};
  const place = row === null ? "" : `${conflict === 1 ? "" : "the first is "}${unit} ${row}: `;
  // The plan above has the whole reason.
  const [reason = ""] = showLine(message ?? "conflict").split("; ");
  return `${count} (${place}${reason}).`;
}

async function confirm(
  session: BulkSession,
  plan: Plan,
  { isSure, input }: Confirming,
): Promise<boolean> {
  say(`Applying the plan takes about ${describeDuration(plan)}.`);
  if (isSure) return true;
  const count = findCountToType(plan, countPlannedWrites(plan.counts));
  return confirmAtTerminal({ input, count, signal: session.signal });
}
