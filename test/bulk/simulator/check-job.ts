import type { Job } from "../../../src/state/jobs.ts";
import type { Receipt } from "../../../src/state/job-runs.ts";
import type { PlanRow } from "../../../src/state/plans.ts";
import type { SimPlan } from "./planned.ts";
import type { Model } from "./stage.ts";
import { isAsPlanned, type Apps, type Write } from "./truth.ts";

/** Compares the results that a job reports for its rows with what the service did. */

export type JobRun = {
  readonly planned: SimPlan;
  readonly receipts: readonly Receipt[];
  readonly apps: Apps;
  /** The number of writes before the plan was made. */
  readonly since: number;
  /** The number of writes before the first plan. An undo may conflict with those in between. */
  readonly firstSince: number;
};

export function checkJob(stage: Model, job: Job, judged: JobRun): void {
  const { complain, figures } = stage;
  const { receipts } = judged;
  for (const receipt of receipts) {
    figures.add(`rows: ${receipt.status ?? "not begun"}`);
    checkReceipt(stage, receipt, judged);
  }
  const count = (status: Receipt["status"]) =>
    receipts.filter((receipt) => receipt.status === status).length;
  const open = receipts.length - count("done") - count("rejected");
  if (job.state === "done" && open > 0) complain(`the job is done with ${open} rows left`);
  if (job.state !== "done") complain(`the job does not end: it is ${job.state}`);
  const { done, rejected, unknown, left } = job.counts;
  const isCounted = done === count("done") && rejected === count("rejected");
  if (!isCounted || unknown + left !== open) {
    complain(`the job counts ${JSON.stringify(job.counts)}, unlike its receipts`);
  }
}

function checkReceipt(stage: Model, receipt: Receipt, judged: JobRun): void {
  const { path, status } = receipt;
  const own = listOwn(stage, judged, receipt);
  const made = new Set(own.flatMap(({ id, before }) => (before === undefined ? [id] : [])));
  const isRemade = listOthers(stage, judged, receipt).some(
    ({ before, after }) => before?.path === path && after?.path !== path,
  );
  if (made.size > 1 && !isRemade) complainOf(stage, receipt, judged, "made two links");
  if (status === "done") checkDone(stage, receipt, judged);
  if (status === "rejected") checkRejected(stage, receipt, judged, own);
  if (status === null && own.length > 0) {
    complainOf(stage, receipt, judged, "was carried out but is not reported as such");
  }
}

/** A done row must have its planned effect, until someone else changed the link. */
function checkDone(stage: Model, receipt: Receipt, judged: JobRun): void {
  const { action, path, link_id } = receipt;
  const { truth } = stage;
  if (action === "delete") {
    const isThere = truth.links.has(link_id ?? "");
    if (isThere) complainOf(stage, receipt, judged, "is done, but its link exists");
    return;
  }
  // The ID of the link may be unknown, as its response was lost.
  const history = truth.writes.filter(
    ({ id, order, after }) =>
      order >= judged.since && (link_id === null ? after?.path === path : id === link_id),
  );
  const fields = { ...receipt.fields, ...(action === "create" && { path }) };
  const last = history.findLastIndex(
    ({ after }) => after !== undefined && isAsPlanned(after, fields, judged.apps),
  );
  if (last < 0) complainOf(stage, receipt, judged, "is done, but never was as planned");
  else if (history[last + 1]?.row !== undefined) {
    complainOf(stage, receipt, judged, "is done, but we have undone it ourselves");
  }
}

/** A rejected row must have had no effect, and a reason: someone else used its link or path. */
function checkRejected(
  stage: Model,
  receipt: Receipt,
  judged: JobRun,
  own: readonly Write[],
): void {
  if (listOthers(stage, judged, receipt).length > 0) return;
  if (own.length === 0 && !isRefused(stage, judged, receipt)) {
    complainOf(stage, receipt, judged, "is rejected, but no one had changed anything");
  }
  if (own.length > 0 && !isOvertaken(stage, judged, receipt)) {
    complainOf(stage, receipt, judged, "is rejected, but was carried out");
  }
}

/** The service may refuse a move to a path that another row still has for a good reason. */
function isRefused(stage: Model, judged: JobRun, row: PlanRow): boolean {
  const { planned, receipts } = judged;
  const holder = receipts.find((other) => other.path === row.fields?.["path"]);
  if (holder === undefined || !stage.truth.refusals.has(planned.name(row.position))) return false;
  return (
    holder.status !== "done" ||
    stage.door.disturbed.has(planned.name(holder.position)) ||
    listOthers(stage, judged, holder).length > 0
  );
}

/** An abandoned request of a refused row arrives late and succeeds, unknown to the job. */
export function isOvertaken({ truth }: Model, { planned }: Pick<JobRun, "planned">, row: PlanRow) {
  const name = planned.name(row.position);
  const place = row.fields?.["path"];
  const isHeld = planned.rows.some(({ path }) => path === place && path !== row.path);
  const refusedAt = truth.refusals.get(name) ?? Infinity;
  const own = truth.writes.filter((write) => write.row === name);
  return isHeld && own.length > 0 && own.every(({ order }) => order >= refusedAt);
}

function listOwn({ truth }: Model, { planned }: JobRun, { position }: PlanRow): readonly Write[] {
  return truth.writes.filter(({ row }) => row === planned.name(position));
}

export function listOthers(
  { truth }: Model,
  { firstSince }: Pick<JobRun, "firstSince">,
  planned: PlanRow,
): readonly Write[] {
  const places = readPlaces(planned);
  return truth.writes.slice(firstSince).filter(({ row, id, before, after }) => {
    if (row !== undefined) return false;
    const isAt = [before?.path, after?.path].some((path) => places.includes(path));
    // For a created link, only the path was known before.
    return isAt || (planned.action !== "create" && id === planned.link_id);
  });
}

export function readPlaces({ path, fields }: PlanRow): readonly unknown[] {
  return [path, fields?.["path"]].filter((place) => typeof place === "string");
}

function complainOf(
  { complain }: Model,
  { action, position, path, message }: Receipt,
  judged: JobRun,
  text: string,
): void {
  const said = message === null ? "" : ` (${message})`;
  complain(`${judged.planned.name(position)}, ${action} ${path}, ${text}${said}`);
}
