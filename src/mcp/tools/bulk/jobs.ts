import * as z from "zod";
import type { Bulk } from "../../../bulk/bulk.ts";
import { createPricingCheck } from "../../../bulk/plan/check-pricing.ts";
import { presentJob, presentReceipt, shortenTexts } from "../../../bulk/present.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { unauthorized, type FieldProblem } from "../../../contract/problem.ts";
import type { Job } from "../../../state/jobs.ts";
import { isFaulty, type Plan } from "../../../state/plans.ts";
import { showHiddenIn } from "../../../text/show-hidden.ts";
import { refuseForeign } from "../../access/limit-destinations.ts";
import { describeTask } from "../../results/job-task.ts";
import { explainEnd, ToolFailure } from "../../results/tool-failure.ts";
import { makeTool, type ToolCall, type CallProgress, type Tool } from "../tool.ts";
import { readWriting, refuseMissing, requireActs, requireJob } from "./bulk-tool.ts";
import { previewPlan } from "./preview-plan.ts";
import { summarizePlan, type PlanSummary } from "./summarize-plan.ts";

/** The tools that start, watch and cancel jobs. A job applies a plan in the background. */

/** How long a call waits for a job before it returns the job's progress. */
const mostWait_ms = 20_000;
/** Short, because clients that support tasks poll the job. */
const mostTaskWait_ms = 1000;

const page = z.int().min(1).optional();

export function createJobTools(): readonly Tool[] {
  return [createApplyPlan(), createGetJob(), createListJobs(), createCancelJob()];
}

function createApplyPlan(): Tool {
  const name = "apply_plan";
  return makeTool({
    group: "bulk",
    readAccess: readWriting,
    name,
    title: "Apply a plan",
    description:
      "Apply a plan. A person approves overwrites, deletions and app registrations. Calling it " +
      "again returns or resumes the same job.",
    effect: "destroy",
    overwrites: true,
    fields: () => ({ plan_id: z.string() }),
    result: () => ({ job: otherJobSchema }),
    run: async (args, call) => {
      const owner = call.keyContext;
      const { bulk } = owner;
      const plan = await bulk.findPlan(String(args["plan_id"]), owner);
      if (plan === undefined) {
        throw refuseMissing("This key has no plan with this id.", "Make a plan first.");
      }
      refuseFaulty(plan);
      const seen = await bulk.findJobOf(plan, owner);
      if (seen === undefined) await refuseForbiddenRows(plan, call, name);
      await requireApprovedPlan(name, plan, seen, call);
      const begun = performance.now();
      const named = { ...owner, requestId: call.requestId };
      call.acted.hasBegun = true;
      const job = await bulk.apply(plan, named, seen, { ...call.writer, tool: name });
      // Starting the job may already have waited for the lease of a crashed process to expire.
      return watch(job, call, performance.now() - begun);
    },
  });
}

const mostProblems = 20;

/** Rejects a plan with problems. The error lists them again, because the plan may be old. */
function refuseFaulty(plan: Plan): void {
  if (!isFaulty(plan)) return;
  const { problems } = plan;
  throw new ToolFailure({
    code: "invalid_arguments",
    message: "The plan has problems, so none of it can be applied.",
    problems: problems.slice(0, mostProblems).map(({ row, link, field, message }) => ({
      ...(field !== undefined && { field }),
      message: `${writePlace(row, link)}${message}`,
    })),
    effect: "none",
    retry: "never",
    next: "Fix the problems with the user, then make a new plan.",
  });
}

function writePlace(row: number | undefined, link: string | undefined): string {
  if (row !== undefined) return `Row ${row}: `;
  return link === undefined ? "" : `Link ${link}: `;
}

/**
 * New links need no approval. Overwrites, deletions and app registrations need one approval for the
 * whole plan. That approval also covers resuming an interrupted job. Resuming a cancelled job
 * always needs a new approval.
 */
export function needsApproval(summary: PlanSummary, job: Job | undefined): boolean {
  if (job?.state === "interrupted") return false;
  return job !== undefined || summary.update + summary.delete + summary.registrations.length > 0;
}

async function requireApprovedPlan(
  tool: string,
  plan: Plan,
  job: Job | undefined,
  call: ToolCall,
): Promise<void> {
  // A running or finished job needs no approval, because the call only reports its state.
  if (job?.state === "running" || job?.state === "done") return;
  const owner = call.keyContext;
  const summary = await summarizePlan(owner.bulk, plan, owner, { job, signal: call.signal });
  requireActs(summary, call);
  if (!needsApproval(summary, job)) return;
  await call.requireApproved({
    tool,
    args: { plan_id: plan.id },
    target: plan.id,
    // An approval given before a cancellation must not allow the job to be resumed.
    state: { counts: plan.counts, job: job && { state: job.state, updated_at: job.updated_at } },
    question: previewPlan(plan, summary, { job, binDays: owner.known.binDays }),
  });
}

/** Waits until the job stops running, or the time limit is reached. */
async function watch(job: Job, call: ToolCall, waited_ms: number): Promise<JsonObject> {
  const { bulk } = call.keyContext;
  const most_ms = call.answerWithTask ? mostTaskWait_ms : mostWait_ms;
  const ended = await bulk.wait(job, Math.max(0, most_ms - waited_ms), (now) => {
    call.reportProgress(describeProgress(job, now));
  });
  if (ended.state === "running") call.answerWithTask?.(describeTask(ended));
  return answerJob(ended, call);
}

/** Describes a job's progress, and its speed since the call began. */
function describeProgress(first: Job, now: Job): CallProgress {
  const { left } = now.counts;
  const progress = now.counts.done + now.counts.rejected + now.counts.unknown;
  const seconds = (now.updated_at - first.updated_at) / 1000;
  const rate = seconds > 0 ? (first.counts.left - left) / seconds : 0;
  const time = rate > 0 ? `, about ${Math.ceil(left / rate)} s left` : "";
  const total = progress + left;
  const message = `${progress} of ${total} links, ${rate.toFixed(1)} per second${time}`;
  return { progress, total, message };
}

async function answerJob(job: Job, { keyContext }: ToolCall, page?: number): Promise<JsonObject> {
  return { job: await showJobPage(job, keyContext.bulk, page) };
}

function createGetJob(): Tool {
  return makeTool({
    group: "bulk",
    readAccess: readWriting,
    name: "get_job",
    title: "Get a job",
    description: "Show a job's progress and failures. With page, also each row's result.",
    effect: "read",
    fields: () => ({ job_id: z.string(), page }),
    result: () => ({ job: jobSchema }),
    run: async (args, call) => answerJob(await requireJob(args, call), call, readPage(args)),
  });
}

function readPage(args: JsonObject): number | undefined {
  return typeof args["page"] === "number" ? args["page"] : undefined;
}

function createListJobs(): Tool {
  return makeTool({
    group: "bulk",
    readAccess: readWriting,
    name: "list_jobs",
    title: "List jobs",
    description: "List this API key's jobs, newest first.",
    effect: "read",
    fields: () => ({ page }),
    result: () => ({ jobs: z.array(otherJobSchema), meta: z.looseObject({ count: z.unknown() }) }),
    run: async (args, call) => {
      const { bulk } = call.keyContext;
      const { jobs, meta } = await bulk.listJobs(call.keyContext, readPage(args) ?? 1);
      return { jobs: jobs.map(showJob), meta };
    },
  });
}

function createCancelJob(): Tool {
  return makeTool({
    group: "bulk",
    readAccess: readWriting,
    name: "cancel_job",
    title: "Cancel a job",
    description:
      "Stop a job after the rows in progress; this cannot be undone. " +
      "To revert finished rows, plan to undo the job.",
    effect: "write",
    fields: () => ({ job_id: z.string() }),
    result: () => ({ job: otherJobSchema }),
    run: async (args, call) => {
      const job = await requireJob(args, call);
      call.acted.hasBegun = true;
      return answerJob(await call.keyContext.bulk.cancel(job), call);
    },
  });
}

/**
 * Throws if a row of the bulk plan is no longer allowed, because the pricing plan or the allowed
 * destinations have changed. Runs before a user is asked for approval.
 */
async function refuseForbiddenRows(plan: Plan, call: ToolCall, tool: string): Promise<void> {
  const { keyContext, signal } = call;
  const findFault = createPricingCheck({ ...keyContext, signal });
  const problems: FieldProblem[] = [];
  for await (const row of keyContext.bulk.readWrites(plan)) {
    const fault = await findFault(row);
    if (fault !== undefined) throw explainEnd({ tool }, unauthorized(fault.message));
    const place = `Row ${row.row ?? row.position + 1}: `;
    const found = keyContext.checkDestinations(row.fields ?? {}, row.before ?? {});
    const placed = found.map(({ field, message }) => ({ field, message: `${place}${message}` }));
    problems.push(...placed.slice(0, mostProblems - problems.length));
  }
  refuseForeign(problems);
}

const jobSchema = z.looseObject({
  id: z.string(),
  plan_id: z.string(),
  state: z.enum(["running", "done", "cancelled", "interrupted"]),
  counts: z.record(z.string(), z.int()),
});

const otherJobSchema = z.looseObject({
  id: z.unknown(),
  plan_id: z.unknown(),
  state: z.unknown(),
  counts: z.unknown(),
});

const receiptsPerPage = 50;
/** Failures are added to a job's description only up to this length in bytes. */
const mostBytes = 1400;
const mostFailures = 10;
const mostCharacters = 160;

function showJob(job: Job): JsonObject {
  const { created_at, updated_at, ...record } = presentJob(job);
  return { ...record, ...describeNext(job), created_at, updated_at };
}

/** Formats a job with its first failures and, if a page is requested, the rows of that page. */
export async function showJobPage(job: Job, bulk: Bulk, page?: number): Promise<JsonObject> {
  const record = { ...describePage(job, page), ...showJob(job) };
  const failed = await bulk.listReceipts(job, { limit: mostFailures, only: "failed" });
  const failures: JsonObject[] = [];
  // Adds as many failures as fit, because they matter most and may be on any page.
  for (const receipt of failed.map(presentReceipt)) {
    const next = [...failures, shortenTexts(receipt, mostCharacters)];
    const bytes = Buffer.byteLength(JSON.stringify(showHiddenIn({ ...record, failures: next })));
    if (bytes > mostBytes) break;
    failures.push(...next.slice(-1));
  }
  const shown = { ...record, ...(failures.length > 0 && { failures }) };
  if (page === undefined) return shown;
  const offset = (page - 1) * receiptsPerPage;
  const receipts = await bulk.listReceipts(job, { offset, limit: receiptsPerPage });
  return { ...shown, receipts: receipts.map(presentReceipt) };
}

type NextStep = { readonly next?: string };

/** Explains how to see a job's progress and the results of its rows. */
function describePage({ state, counts }: Job, page: number | undefined): NextStep {
  if (state === "running") {
    return { next: "The job runs by itself. Read it by its id to see its progress." };
  }
  if (page === undefined) {
    const failed = counts.rejected + counts.unknown;
    return failed === 0 ? {} : { next: "Page 1 of the job shows the result of each row." };
  }
  const rows = counts.done + counts.rejected + counts.unknown + counts.left;
  const last = Math.ceil(rows / receiptsPerPage);
  if (page > last && last > 0) return { next: `The last page is ${last}.` };
  if (page >= last) return {};
  return { next: `Page ${page} of ${last}: page ${page + 1} of the job has more rows.` };
}

/** The sentences name no tools, because a read-only key cannot call them. */
function describeNext({ state, isHeld, counts }: Job): NextStep {
  if (state === "interrupted") {
    return { next: "Applying its plan (plan_id) again resumes it." };
  }
  if (state !== "cancelled") return {};
  if (isHeld) {
    return { next: "Its last rows are still in progress. Read it again to see their results." };
  }
  const undo = counts.done === 0 ? "" : " A plan that undoes the job reverts its finished rows.";
  const rest = counts.left + counts.unknown;
  if (rest === 0) return {};
  const resuming = "Applying its plan again resumes it, if the user wants that.";
  return { next: `The job was cancelled. ${resuming}${undo}` };
}
