import type { Receipt } from "../../../src/state/job-runs.ts";
import type { PlanRow } from "../../../src/state/plans.ts";
import type { Played } from "./play-job.ts";
import type { Planned } from "./planned.ts";
import type { Stage } from "./stage.ts";
import { isAsPlanned, type Apps, type Write } from "./truth.ts";

/** Holds what a job says of its rows against what the service has carried out. */

export type Judged = {
  readonly planned: Planned;
  readonly receipts: readonly Receipt[];
  readonly apps: Apps;
  /** How much had been written before the plan was made. */
  readonly since: number;
  /** The same, before anything was planned: an undoing may meet what came between. */
  readonly firstSince: number;
};

export function checkJob(stage: Stage, { job, isRefused }: Played, judged: Judged): void {
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
  if (job.state !== "done" && !isRefused) complain(`the job comes to no end: it is ${job.state}`);
  const { done, rejected, unknown, left } = job.counts;
  const isCounted = done === count("done") && rejected === count("rejected");
  if (!isCounted || unknown + left !== open) {
    complain(`the job counts ${JSON.stringify(job.counts)}, which its receipts do not`);
  }
  if (isRefused) checkRefusal(stage, judged);
}

function checkReceipt(stage: Stage, receipt: Receipt, judged: Judged): void {
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
    complainOf(stage, receipt, judged, "was carried out and says nothing of it");
  }
}

/** Done is what is there as planned, or was, until somebody else came. */
function checkDone(stage: Stage, receipt: Receipt, judged: Judged): void {
  const { action, path, link_id } = receipt;
  const { truth } = stage;
  if (action === "delete") {
    const isThere = truth.links.has(link_id ?? "");
    if (isThere) complainOf(stage, receipt, judged, "is done, and its link is there");
    return;
  }
  // Of what was done nobody may have learned which link it is.
  const history = truth.writes.filter(
    ({ id, order, after }) =>
      order >= judged.since && (link_id === null ? after?.path === path : id === link_id),
  );
  const fields = { ...receipt.fields, ...(action === "create" && { path }) };
  const last = history.findLastIndex(
    ({ after }) => after !== undefined && isAsPlanned(after, fields, judged.apps),
  );
  if (last < 0) complainOf(stage, receipt, judged, "is done, and never was as planned");
  else if (history[last + 1]?.row !== undefined) {
    complainOf(stage, receipt, judged, "is done, and we have undone it ourselves");
  }
}

/** Rejected is what we never did, unless somebody else was at the same link or path. */
function checkRejected(
  stage: Stage,
  receipt: Receipt,
  judged: Judged,
  own: readonly Write[],
): void {
  if (listOthers(stage, judged, receipt).length > 0) return;
  if (own.length === 0 && !isRefused(stage, judged, receipt)) {
    complainOf(stage, receipt, judged, "is rejected, and nobody had changed anything");
  }
  if (own.length > 0 && !isOvertaken(stage, judged, receipt)) {
    complainOf(stage, receipt, judged, "is rejected, and was carried out");
  }
}

/** The service may refuse a move to a place that another row, for a good reason, still holds. */
function isRefused(stage: Stage, judged: Judged, row: PlanRow): boolean {
  const { planned, receipts } = judged;
  const holder = receipts.find((other) => other.path === row.fields?.["path"]);
  if (holder === undefined || !stage.truth.refusals.has(planned.name(row.position))) return false;
  return (
    holder.status !== "done" ||
    stage.door.disturbed.has(planned.name(holder.position)) ||
    listOthers(stage, judged, holder).length > 0
  );
}

/**
 * A place that a row was refused for is given up by another row of the plan, and then a request of
 * the first one arrives that its client had long given up: nobody can know of that.
 */
export function isOvertaken({ truth }: Stage, { planned }: Pick<Judged, "planned">, row: PlanRow) {
  const name = planned.name(row.position);
  const place = row.fields?.["path"];
  const isHeld = planned.rows.some(({ path }) => path === place && path !== row.path);
  const refusedAt = truth.refusals.get(name) ?? Infinity;
  const own = truth.writes.filter((write) => write.row === name);
  return isHeld && own.length > 0 && own.every(({ order }) => order >= refusedAt);
}

function checkRefusal(stage: Stage, judged: Judged): void {
  const { links } = stage.truth;
  const known = [...judged.planned.rows, ...judged.receipts];
  const isGone = known.some(({ link_id }) => link_id !== null && !links.has(link_id));
  const isDeleted = stage.truth.writes
    .slice(judged.since)
    .some(({ row, after }) => row === undefined && after === undefined);
  if (!isGone || !isDeleted) stage.complain("the project is not recognized, and nobody was there");
}

function listOwn({ truth }: Stage, { planned }: Judged, { position }: PlanRow): readonly Write[] {
  return truth.writes.filter(({ row }) => row === planned.name(position));
}

/** What somebody else has done to the row's link, or at a path of its, since it was planned. */
export function listOthers(
  { truth }: Stage,
  { firstSince }: Pick<Judged, "firstSince">,
  planned: PlanRow,
): readonly Write[] {
  const places = readPlaces(planned);
  return truth.writes.slice(firstSince).filter(({ row, id, before, after }) => {
    if (row !== undefined) return false;
    const isAt = [before?.path, after?.path].some((path) => places.includes(path));
    // Where a link was created, only its path was known before.
    return isAt || (planned.action !== "create" && id === planned.link_id);
  });
}

/** The paths that a row is about, as unknown values to be looked for. */
export function readPlaces({ path, fields }: PlanRow): readonly unknown[] {
  return [path, fields?.["path"]].filter((place) => typeof place === "string");
}

function complainOf(
  { complain }: Stage,
  { action, position, path, message }: Receipt,
  judged: Judged,
  text: string,
): void {
  const said = message === null ? "" : ` (${message})`;
  complain(`${judged.planned.name(position)}, ${action} ${path}, ${text}${said}`);
}
