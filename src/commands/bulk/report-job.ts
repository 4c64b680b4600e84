import { presentJob, presentReceipt } from "../../bulk/present.ts";
import type { Unit } from "../../bulk/rows/check-rows.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Job } from "../../state/jobs.ts";
import type { Receipt } from "../../state/job-runs.ts";
import { quote } from "../../text/show-hidden.ts";
import { print, printJson, say } from "../terminal/output.ts";
import { sumUp } from "../terminal/progress-bar.ts";
import { showLine } from "./describe-plan.ts";
import { Interrupted } from "../terminal/ask-to-go-on.ts";
import type { BulkSession } from "./bulk-session.ts";

/** Reports the result of a job, and each row that failed. */

export type Reporting = {
  readonly unit: Unit;
  readonly isJson: boolean;
  /** More members of the JSON document. */
  readonly beside?: JsonObject;
};

const mostShown = 50;

/** Returns whether all rows of the job were applied. */
export async function reportJob(
  session: BulkSession,
  job: Job,
  reporting: Reporting,
): Promise<boolean> {
  const { unit, isJson, beside = {} } = reporting;
  const { id, state, counts, message } = job;
  const count = counts.rejected + counts.unknown;
  const limit = isJson ? count : mostShown;
  const failed = await session.bulk.listReceipts(job, { limit, only: "failed" });
  if (isJson) {
    printJson({ ...beside, job: { ...presentOwn(job), failed: failed.map(presentReceipt) } });
  } else {
    print(describeJob(job));
    for (const receipt of failed) print(describeReceipt(receipt, unit));
  }
  const more = count - failed.length;
  if (more > 0) say(`And ${more} more: waypost jobs show ${id} --failed`);
  if (session.signal.aborted && state !== "done") throw interrupt(job);
  if (message !== null) {
    say(`The job stopped: ${showLine(message)} (to find the cause, run waypost doctor)`);
  }
  if (state !== "done") say(`Run waypost jobs resume ${id} to resume it.`);
  else if (counts.done > 0) say(`Run waypost jobs undo ${id} to undo it.`);
  return state === "done" && count === 0;
}

/** Presents a job for scripts, without its rows. */
export function presentOwn(job: Job): JsonObject {
  const { isHeld, counts } = job;
  const hasRest = isHeld || counts.left + counts.unknown > 0;
  const next = isResumable(job) && hasRest && { next: `waypost jobs resume ${job.id}` };
  return { ...presentJob(job), ...next };
}

/** Whether rows of the job are left, and no process works on them. */
export function isResumable({ state }: Job): boolean {
  return state === "interrupted" || state === "cancelled";
}

export function describeJob({ id, state, counts }: Job): string {
  const { done, rejected, unknown, left } = counts;
  const { total } = sumUp(counts);
  const parts = [
    `${done} of ${total === 1 ? "1 link" : `${total} links`} done`,
    ...(rejected > 0 ? [`${rejected} rejected`] : []),
    ...(unknown > 0 ? [`${unknown} unknown`] : []),
    ...(left > 0 ? [`${left} left`] : []),
  ];
  return `Job ${id} is ${state}: ${parts.join(", ")}.`;
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
