import * as z from "zod";
import { estimatePart, estimateSeconds } from "../../../bulk/apply/write-spacing.ts";
import type { Bulk } from "../../../bulk/bulk.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { limits } from "../../../contract/policy.ts";
import type { Job } from "../../../state/jobs.ts";
import type { Receipt, ReceiptPage } from "../../../state/job-journal.ts";
import {
  countPlannedWrites,
  type Plan,
  type PlanAction,
  type PlanRow,
} from "../../../state/plans.ts";
import { quote } from "../../../text/show-hidden.ts";
import type { Fact, Preview } from "../../approval/approval-request.ts";
import { writePlanUri } from "./uris.ts";

/** Plans and jobs as an assistant reads them, and as a person does before saying yes. */

const counted = z.record(z.string(), z.int());

export const planSchema = z.looseObject({
  id: z.string(),
  operation: z.string(),
  counts: counted,
  seconds: z.int(),
  expires_at: z.string(),
});

export const jobSchema = z.looseObject({
  id: z.string(),
  plan_id: z.string(),
  state: z.enum(["running", "done", "cancelled", "interrupted"]),
  counts: counted,
});

const sampled = ["create", "update", "delete", "conflict", "invalid"] as const;
/** Of a job, so many at a time. */
export const receiptsPerPage = 50;
const samplesEach = 3;
const mostShown = limits.web_address_characters;
const mostSampled = 200;
/** A person who is to say yes sees more of them. */
const shownEach = 10;
const mostProblems = 50;
const mostFailures = 50;
/** More overwritten or deleted links than these, and their number has to be typed. */
const mostUntyped = 50;

export async function presentPlan(plan: Plan, bulk: Bulk): Promise<JsonObject> {
  const { id, operation, undoes, counts, problems, expires_at } = plan;
  const sample = await Promise.all(sampled.map((action) => listSample(plan, bulk, action)));
  return {
    id,
    operation,
    ...(undoes !== null && { undoes }),
    counts,
    seconds: estimateSeconds(counts),
    ...(problems.length > 0 && { problems: problems.slice(0, mostProblems) }),
    sample: sample.flat().map((row) => shorten(presentRow(row))),
    // Where all of them are read.
    uri: writePlanUri(id),
    expires_at: new Date(expires_at).toISOString(),
  };
}

function listSample(
  plan: Plan,
  bulk: Bulk,
  action: PlanAction,
  limit = samplesEach,
): Promise<readonly PlanRow[]> {
  return bulk.listRows(plan, { actions: [action], limit });
}

/** A sample is to be read through; the whole texts are at the plan's own address. */
function shorten(value: JsonObject): JsonObject {
  const texts = JSON.stringify(value, (_, member: unknown) =>
    typeof member === "string" && member.length > mostSampled
      ? `${member.slice(0, mostSampled).toWellFormed()}…`
      : member,
  );
  // An object is written and read back as one.
  return JSON.parse(texts) as JsonObject;
}

export function presentRow(row: PlanRow): JsonObject {
  const { action, link_id, path, before, message } = row;
  const name = before?.["name"];
  const changes = listChanges(row);
  return {
    ...(row.row !== null && { row: row.row }),
    action,
    ...(link_id !== null && { id: link_id }),
    ...(path !== null && { path }),
    ...(typeof name === "string" && name !== "" && { name }),
    ...(changes !== undefined && { changes }),
    ...(message !== null && { message }),
  };
}

type Change = { readonly from: unknown; readonly to: unknown };

/** Field by field; what a new link gets comes from nothing. */
export function listChanges(row: PlanRow): Readonly<Record<string, Change>> | undefined {
  const { fields, before } = row;
  if (fields === null) return undefined;
  const members = Object.entries(fields).flatMap(([field, to]) => {
    // A link tells of its app by the app's id.
    const from = before?.[field] ?? before?.[`${field}_id`] ?? null;
    return from === (to === "" ? null : to) ? [] : [[field, { from, to }] as const];
  });
  return Object.fromEntries(members);
}

/** The receipts come along where a page of them is asked for. */
export async function presentJob(job: Job, bulk: Bulk, page?: ReceiptPage): Promise<JsonObject> {
  const { id, plan_id, operation, planned, state, message, counts } = job;
  const { created_at, updated_at } = job;
  const receipts = page && (await bulk.listReceipts(job, page));
  return {
    id,
    plan_id,
    operation,
    state,
    counts,
    ...(state === "running" && { seconds_left: estimatePart(planned, counts.left) }),
    ...(message !== null && { message }),
    ...describeNext(job),
    created_at: new Date(created_at).toISOString(),
    updated_at: new Date(updated_at).toISOString(),
    ...(receipts && { receipts: receipts.map(presentReceipt) }),
  };
}

/** With a page of its receipts, and how to go on from there. */
export async function presentJobPage(job: Job, bulk: Bulk, wanted?: number): Promise<JsonObject> {
  const limit = receiptsPerPage;
  const page = wanted ?? 1;
  // Whoever only asks how far it is need not read the same rows each time.
  const isPolled = job.state === "running" && wanted === undefined;
  const receipts = isPolled ? undefined : { offset: (page - 1) * limit, limit };
  const { counts } = job;
  const failed = await bulk.listReceipts(job, { limit: mostFailures, only: "failed" });
  const last = Math.ceil((counts.done + counts.rejected + counts.unknown + counts.left) / limit);
  return {
    ...describeRest(job, page, last),
    // They may be anywhere among the rows, and are what matters.
    ...(failed.length > 0 && { failures: failed.map(presentReceipt) }),
    ...(await presentJob(job, bulk, receipts)),
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

const resumable = "Call apply_plan with the plan_id to go on with it.";

function describeNext({ state, isHeld, counts }: Job): { readonly next?: string } {
  if (state === "interrupted") return { next: resumable };
  if (state !== "cancelled") return {};
  if (isHeld) {
    return { next: "Its last rows are on the way: call get_job again to see how they ended." };
  }
  const undo = counts.done === 0 ? "" : " To put back what is done call plan_links with undo.";
  const rest = counts.left + counts.unknown;
  if (rest === 0) return {};
  return { next: `It was cancelled: only if the user asks for it, go on with apply_plan.${undo}` };
}

export function presentReceipt({ planned, status, link_id, message }: Receipt): JsonObject {
  const { row, action, path } = planned;
  return {
    ...(row !== null && { row }),
    action,
    // What was sent is on the way, or was never heard of again.
    outcome: status === "sent" ? "unknown" : (status ?? "left"),
    ...(link_id !== null && { id: link_id }),
    ...(path !== null && { path }),
    ...(message !== null && { message }),
  };
}

/** The numbers and some of the rows: what a person says yes to. Of a job, what is left of it. */
export async function previewPlan(plan: Plan, bulk: Bulk, job?: Job): Promise<Preview> {
  const { counts, undoes } = plan;
  const all = countPlannedWrites(counts);
  const total = job === undefined ? all : job.counts.left + job.counts.unknown;
  const sample = await listShown(plan, bulk, job);
  const acts = `create ${counts.create}, overwrite ${counts.update}, delete ${counts.delete}`;
  const links = `${total} ${total === 1 ? "link" : "links"}`;
  const seconds = estimatePart(counts, total);
  const more = total - sample.length;
  return {
    ...(Math.min(total, counts.update + counts.delete) > mostUntyped && { count: total }),
    title:
      job === undefined
        ? `${links}: ${undoes === null ? "" : "undo a job; "}${acts}`
        : `${links} are left of ${all} (${acts}): go on with a cancelled job`,
    facts: [
      ...Object.entries(counts).flatMap(([name, count]): readonly Fact[] =>
        count === 0 ? [] : [{ name, text: String(count) }],
      ),
      { name: "takes about", text: `${seconds} s` },
      ...sample.map(describeRow),
      ...(more > 0 ? [{ name: "and", text: `${more} more` }] : []),
    ],
  };
}

async function listShown(
  plan: Plan,
  bulk: Bulk,
  job: Job | undefined,
): Promise<readonly PlanRow[]> {
  if (job !== undefined) {
    const open = await bulk.listReceipts(job, { limit: shownEach, only: "open" });
    return open.map(({ planned }) => planned);
  }
  const acts = ["update", "delete", "create"] as const;
  const rows = await Promise.all(acts.map((act) => listSample(plan, bulk, act, shownEach)));
  return rows.flat();
}

/** The link by its name and path, what hangs on it, and what would be another. */
function describeRow(row: PlanRow): Fact {
  const { action, path, link_id, before } = row;
  const changes = Object.entries(listChanges(row) ?? {}).map(([field, { from, to }]) => {
    const old = before === null ? "" : `${writeValue(from)} becomes `;
    return `${field}: ${old}${writeValue(to)}`;
  });
  const name = before?.["name"];
  const told = [
    ...(typeof name === "string" && name !== "" ? [`named ${quote(name)}`] : []),
    ...(typeof before?.["clicks"] === "number" ? [`${before["clicks"]} clicks`] : []),
    ...changes,
  ];
  return { name: `${action} ${quote(path ?? link_id ?? "", mostShown)}`, text: told.join("; ") };
}

/** A text as it is, and whatever else as JSON. */
function writeValue(value: unknown): string {
  if (value === null || value === "") return "nothing";
  // Whole: what an address ends with decides where it leads.
  return quote(typeof value === "string" ? value : JSON.stringify(value), mostShown);
}
