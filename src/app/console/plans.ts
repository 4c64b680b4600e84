import type { KeyContext } from "../../mcp/access/key-context.ts";
import { readPlanPage, rowsPerPage } from "../../mcp/approval/plan-rows.ts";
import { needsApproval } from "../../mcp/tools/bulk/jobs.ts";
import { previewPlan } from "../../mcp/tools/bulk/preview-plan.ts";
import { summarizePlan } from "../../mcp/tools/bulk/summarize-plan.ts";
import type { Job } from "../../state/jobs.ts";
import { countPlannedWrites, isFaulty, type Plan } from "../../state/plans.ts";
import type { ConsoleQuestion, PlanPosition, ShownPlan } from "../../console/account.ts";
import { renderQuestion } from "./questions.ts";
import { clock } from "../process/embedded.ts";
import type { Deployment } from "../process/deployment.ts";

/** Shows a plan in the console, in the same form as on the approval page. */

type PlanParts = {
  readonly keyContext: KeyContext;
  readonly deployment: Pick<Deployment, "state">;
  readonly readPin: () => Promise<string | undefined>;
};

export async function readPlan(
  id: string,
  part: PlanPosition,
  parts: PlanParts,
): Promise<ShownPlan | undefined> {
  const { bulk, origin } = parts.keyContext;
  const plan = await bulk.findPlan(id, parts.keyContext);
  // A plan for another server's links cannot be applied here.
  if (plan?.origin !== origin) return undefined;
  const { jobs } = await parts.deployment.state.open();
  const job = await jobs.findOfPlan(plan.id);
  const { counts, problems, request, undoes } = plan;
  const isOver = job === undefined && plan.expires_at <= clock.now();
  const isOpen = !isOver && !isFaulty(plan) && countLeft(plan, job) > 0;
  const conflicts = await bulk.listRows(plan, {
    actions: ["conflict"],
    offset: (part.conflicts - 1) * rowsPerPage,
    limit: rowsPerPage,
  });
  const faulty = new Set(problems.flatMap(({ row, link }) => row ?? link ?? []));
  return {
    counts,
    question: isOpen ? await describe(plan, job, part, parts) : undefined,
    isFaulty: isFaulty(plan),
    isOver,
    jobId: job?.id,
    undoes: undoes ?? undefined,
    problems,
    moreFaults: Math.max(0, counts.invalid - faulty.size),
    conflicts: conflicts.map(({ row, path, link_id, message }) => ({
      ...(row === null ? { link: path ?? link_id ?? "" } : { row }),
      message: message ?? "",
    })),
    format: request.source?.format,
    unmapped: request.source?.unmapped ?? [],
    warnings: request.source?.warnings ?? [],
  };
}

/** Counts the rows that the user can still approve: none while the plan's job runs. */
function countLeft({ counts }: Plan, job: Job | undefined): number {
  if (job === undefined) return countPlannedWrites(counts);
  const canGoOn = job.state === "interrupted" || job.state === "cancelled";
  return canGoOn ? job.counts.left + job.counts.unknown : 0;
}

async function describe(
  plan: Plan,
  job: Job | undefined,
  part: PlanPosition,
  { keyContext, deployment, readPin }: PlanParts,
): Promise<ConsoleQuestion> {
  const summary = await summarizePlan(keyContext.bulk, plan, keyContext, { job });
  const question = previewPlan(plan, summary, { job, binDays: keyContext.known.binDays });
  const isAsked = needsApproval(summary, job);
  const asksPin = isAsked && (await readPin()) !== undefined;
  const { rows, count } = question;
  const shown = rows && (await readPlanPage(await deployment.state.open(), rows, part));
  return {
    ...renderQuestion(question, shown),
    count: isAsked ? count : undefined,
    pin: asksPin ? { left: undefined } : undefined,
    blocked: undefined,
  };
}
