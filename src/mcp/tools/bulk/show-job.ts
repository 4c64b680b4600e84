import * as z from "zod";
import type { Bulk } from "../../../bulk/bulk.ts";
import { presentJob, presentReceipt } from "../../../bulk/present.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { Job } from "../../../state/jobs.ts";

/** A job as an assistant reads it: the record, and which tool goes on from there. */

export const jobSchema = z.looseObject({
  id: z.string(),
  plan_id: z.string(),
  state: z.enum(["running", "done", "cancelled", "interrupted"]),
  counts: z.record(z.string(), z.int()),
});

/** Of a job, so many at a time. */
export const receiptsPerPage = 50;
const mostFailures = 50;

export function showJob(job: Job): JsonObject {
  const { created_at, updated_at, ...told } = presentJob(job);
  return { ...told, ...describeNext(job), created_at, updated_at };
}

/** With a page of its receipts, and how to go on from there. */
export async function showJobPage(job: Job, bulk: Bulk, wanted?: number): Promise<JsonObject> {
  const limit = receiptsPerPage;
  const page = wanted ?? 1;
  const { counts } = job;
  const failed = await bulk.listReceipts(job, { limit: mostFailures, only: "failed" });
  const last = Math.ceil((counts.done + counts.rejected + counts.unknown + counts.left) / limit);
  // A client that only asks how far a job is need not read the same rows each time.
  const isPolled = job.state === "running" && wanted === undefined;
  const receipts = isPolled
    ? undefined
    : await bulk.listReceipts(job, { offset: (page - 1) * limit, limit });
  return {
    ...describeRest(job, page, last),
    // They may be on any page of the rows, and matter most.
    ...(failed.length > 0 && { failures: failed.map(presentReceipt) }),
    ...showJob(job),
    ...(receipts && { receipts: receipts.map(presentReceipt) }),
  };
}

function describeRest({ state }: Job, page: number, last: number): { readonly next?: string } {
  if (state === "running") {
    return { next: "It goes on by itself; call get_job with its id to see how far it is." };
  }
  if (page > last && last > 0) return { next: `Its rows end with page ${last}.` };
  if (page >= last) return {};
  return { next: `Page ${page} of ${last}: call get_job with page ${page + 1} for more rows.` };
}

function describeNext({ state, isHeld, counts }: Job): { readonly next?: string } {
  if (state === "interrupted") {
    return { next: "Call apply_plan with the plan_id to go on with it." };
  }
  if (state !== "cancelled") return {};
  if (isHeld) {
    return { next: "Its last rows are on the way: call get_job again to see how they ended." };
  }
  const undo = counts.done === 0 ? "" : " To put back what is done call plan_links with undo.";
  const rest = counts.left + counts.unknown;
  if (rest === 0) return {};
  return { next: `It was cancelled: only if the user asks for it, go on with apply_plan.${undo}` };
}
