import type { Readable } from "node:stream";
import { clock } from "../../app/process/embedded.ts";
import { estimateSeconds } from "../../bulk/apply/job-runner.ts";
import type { PlanResult } from "../../bulk/plan/make-plan.ts";
import { findCountToType, presentJob, presentPlan, presentReceipt } from "../../bulk/present.ts";
import type { Unit } from "../../bulk/rows/check-rows.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Receipt } from "../../state/job-runs.ts";
import type { Job } from "../../state/jobs.ts";
import { countPlannedWrites, isFaulty, type Plan } from "../../state/plans.ts";
import { quote } from "../../text/show-hidden.ts";
import { confirmAtTerminal, Interrupted } from "../terminal/ask-to-go-on.ts";
import { openScreen, print, printJson, say } from "../terminal/output.ts";
import { createProgress, describeSeconds, sumUp } from "../terminal/progress-bar.ts";
import type { BulkSession } from "./bulk-session.ts";
import { describePlan, showLine } from "./describe-plan.ts";

type ConfirmOptions = {
  readonly unit: Unit;
  readonly isJson: boolean;
  /** Whether the user approved the plan in advance, with --yes. */
  readonly isSure: boolean;
  /** Undefined if stdin is not a terminal, so that no one can answer. */
  readonly input: Readable | undefined;
};

/** Shows a plan, and applies it after confirmation. Returns false if some rows were not applied. */
export async function confirmAndApply(
  session: BulkSession,
  made: PlanResult,
  { unit, isJson, isSure, input }: ConfirmOptions,
): Promise<boolean> {
  const { plan, unmapped, warnings } = made;
  const { counts, problems } = plan;
  for (const line of await describePlan(made, session.bulk, unit)) say(line);
  const shown = await presentPlan(plan, session.bulk);
  const extra = { plan: { ...shown, problems, unmapped, warnings } };
  const conclude = (sentence: string, isDone = false) => {
    if (isJson) printJson(extra);
    (isJson ? say : print)(sentence);
    return isDone;
  };
  if (isFaulty(plan)) {
    return conclude("Nothing was changed. Fix the problems above and try again.");
  }
  const writes = countPlannedWrites(counts);
  if (writes === 0) return conclude("There is nothing to change.", counts.conflict === 0);
  say(`Applying the plan takes about ${describeSeconds(estimateSeconds(counts))}.`);
  const question = { input, count: findCountToType(plan, writes), signal: session.signal };
  if (!isSure && !(await confirmAtTerminal(question))) return conclude("Nothing was changed.");
  const job = await followJob(session, plan);
  const isComplete = await reportJob(session, job, { unit, isJson, extra });
  if (counts.conflict === 0) return isComplete;
  const rows = counts.conflict === 1 ? "1 row was" : `${counts.conflict} rows were`;
  say(`${rows} left out; the plan above has the reasons.`);
  return false;
}

/** Longer than any job takes. The user can stop earlier with Ctrl-C. */
const mostWait_ms = 24 * 60 * 60_000;

/** Applies a plan or resumes its job, and shows the progress until it ends or is stopped. */
export async function followJob(
  { bulk, owner, writer, signal }: BulkSession,
  plan: Plan,
  /** The job's state when the user chose to resume it. */
  seen?: Job,
): Promise<Job> {
  const tool = plan.undoes === null ? "waypost import" : "waypost jobs undo";
  let job = await bulk.apply(plan, owner, seen, { ...writer, tool });
  const progress = createProgress(openScreen(), job.counts, clock);
  progress.show(job.counts);
  while (job.state === "running" && !signal.aborted) {
    job = await bulk.wait(job, mostWait_ms, ({ counts }) => progress.show(counts));
  }
  if (signal.aborted) {
    // The results of the last rows are known only now.
    await bulk.close();
    job = (await bulk.findJob(job.id, owner)) ?? job;
  }
  progress.show(job.counts);
  progress.end();
  return job;
}

type ReportOptions = {
  readonly unit: Unit;
  readonly isJson: boolean;
  /** More properties of the JSON document. */
  readonly extra?: JsonObject;
};

const mostShown = 50;

/** Reports a job and its failed rows. Returns false if some rows were not applied. */
export async function reportJob(
  session: BulkSession,
  job: Job,
  { unit, isJson, extra }: ReportOptions,
): Promise<boolean> {
  const { id, state, counts } = job;
  const count = counts.rejected + counts.unknown;
  const limit = isJson ? count : mostShown;
  const failed = await session.bulk.listReceipts(job, { limit, only: "failed" });
  if (isJson) {
    printJson({ ...extra, job: { ...presentOwn(job), failed: failed.map(presentReceipt) } });
  } else {
    print(describeJob(job));
    for (const receipt of failed) print(describeReceipt(receipt, unit));
  }
  const more = count - failed.length;
  if (more > 0) say(`And ${more} more: waypost jobs show ${id} --failed`);
  if (session.signal.aborted && state !== "done") throw interrupt(job);
  sayNext(job);
  if (state === "done" && counts.done > 0) say(`Run waypost jobs undo ${id} to undo it.`);
  return state === "done" && count === 0;
}

/** Says why a job stopped, and how to resume it. */
export function sayNext(job: Job): void {
  const { id, message } = job;
  if (message !== null) {
    say(`The job stopped: ${showLine(message)} (to find the cause, run waypost doctor)`);
  }
  if (isResumable(job)) say(`Run waypost jobs resume ${id} to resume it.`);
}

/** Presents a job for scripts, without its rows. */
export function presentOwn(job: Job): JsonObject {
  return { ...presentJob(job), ...(isResumable(job) && { next: `waypost jobs resume ${job.id}` }) };
}

/** Whether a part of the job is left, and no process is running it. */
export function isResumable({ state }: Job): boolean {
  return state === "interrupted" || state === "cancelled";
}

export function describeJob({ id, state, counts }: Job): string {
  const { done, rejected, unknown, left } = counts;
  const { total } = sumUp(counts);
  const parts = [
    `${done} of ${total === 1 ? "1 link" : `${total} links`} done`,
    rejected > 0 && `${rejected} rejected`,
    unknown > 0 && `${unknown} unknown`,
    left > 0 && `${left} left`,
  ];
  return `Job ${id} is ${state}: ${parts.filter(Boolean).join(", ")}.`;
}

function describeReceipt(receipt: Receipt, unit: Unit): string {
  const { row, action, path, status, link_id, message } = receipt;
  const place = row === null ? "" : `${unit} ${row} `;
  const name = `${status}: ${place}${action} ${quote(path ?? link_id ?? "")}`;
  return message === null ? name : `${name}: ${showLine(message)}`;
}

function interrupt({ id, state, counts }: Job): Interrupted {
  if (state === "running") {
    const advice = `run waypost jobs cancel ${id} to cancel it`;
    return new Interrupted(`another process is still running the job; ${advice}`);
  }
  const { ended, total } = sumUp(counts);
  const advice = `run waypost jobs resume ${id} to resume it`;
  return new Interrupted(`stopped after ${ended} of ${total} links; ${advice}`);
}
