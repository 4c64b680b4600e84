import * as z from "zod";
import type { Bulk } from "../../../bulk/bulk.ts";
import { presentJob, presentReceipt } from "../../../bulk/present.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { Job } from "../../../state/jobs.ts";
import { showHiddenIn } from "../../../text/show-hidden.ts";

/** A job as an assistant reads it: the record, and which tool goes on from there. */

export const jobSchema = z.looseObject({
  id: z.string(),
  plan_id: z.string(),
  state: z.enum(["running", "done", "cancelled", "interrupted"]),
  counts: z.record(z.string(), z.int()),
});

/** A job where it is not the one that is asked for: get_job tells its members. */
export const otherJobSchema = z.looseObject({
  id: z.unknown(),
  plan_id: z.unknown(),
  state: z.unknown(),
  counts: z.unknown(),
});

/** Of a job, so many at a time. */
const receiptsPerPage = 50;
/** However large a job is, what is told of it can be read at a glance. */
const mostBytes = 1400;
const mostFailures = 10;
const mostCharacters = 160;

export function showJob(job: Job): JsonObject {
  const { created_at, updated_at, ...told } = presentJob(job);
  return { ...told, ...describeNext(job), created_at, updated_at };
}

/** With its first failures, and where a page is wanted with the receipts of that. */
export async function showJobPage(job: Job, bulk: Bulk, page?: number): Promise<JsonObject> {
  const failed = await bulk.listReceipts(job, { limit: mostFailures, only: "failed" });
  const isPaged = page !== undefined && job.state !== "running";
  const told = { ...(isPaged ? describeRest(job, page) : describeProgress(job)), ...showJob(job) };
  const shown = { ...told, ...pickFailures(told, failed.map(presentReceipt)) };
  if (page === undefined) return shown;
  const offset = (page - 1) * receiptsPerPage;
  const receipts = await bulk.listReceipts(job, { offset, limit: receiptsPerPage });
  return { ...shown, receipts: receipts.map(presentReceipt) };
}

/** As many as there is room for: they may be on any page of the rows, and matter most. */
function pickFailures(job: JsonObject, failed: readonly JsonObject[]): JsonObject {
  const failures: JsonObject[] = [];
  for (const failure of failed) {
    const next = [...failures, shortenTexts(failure)];
    const bytes = Buffer.byteLength(JSON.stringify(showHiddenIn({ ...job, failures: next })));
    if (bytes > mostBytes) break;
    failures.push(shortenTexts(failure));
  }
  return failures.length === 0 ? {} : { failures };
}

function shortenTexts(record: JsonObject): JsonObject {
  const members = Object.entries(record).map(([name, value]) => {
    const isLong = typeof value === "string" && value.length > mostCharacters;
    return [name, isLong ? `${value.slice(0, mostCharacters).toWellFormed()}…` : value];
  });
  return Object.fromEntries(members);
}

function describeProgress({ state, counts }: Job): { readonly next?: string } {
  if (state === "running") {
    return { next: "The job runs by itself. Read it by its id to see its progress." };
  }
  const failed = counts.rejected + counts.unknown;
  return failed === 0 ? {} : { next: "Page 1 of the job shows the result of each row." };
}

function describeRest({ counts }: Job, page: number): { readonly next?: string } {
  const rows = counts.done + counts.rejected + counts.unknown + counts.left;
  const last = Math.ceil(rows / receiptsPerPage);
  if (page > last && last > 0) return { next: `The last page is ${last}.` };
  if (page >= last) return {};
  return { next: `Page ${page} of ${last}: page ${page + 1} of the job has more rows.` };
}

/** A key that may only read sees these sentences as well, so none of them advises a call. */
function describeNext({ state, isHeld, counts }: Job): { readonly next?: string } {
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
