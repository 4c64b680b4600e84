import { CallFailure } from "../../client/call-failure.ts";
import { readCause } from "../../contract/access.ts";
import { links, type Link, type LinkFields } from "../../contract/links.ts";
import { Problem } from "../../contract/problem.ts";
import { isBlank } from "../../contract/text.ts";
import type { Job, Jobs } from "../../state/jobs.ts";
import type { Receipt, RowEnd } from "../../state/job-journal.ts";
import type { Run } from "../../state/job-leases.ts";
import type { PlanRow } from "../../state/plans.ts";
import type { Asking } from "../owner.ts";
import { listEdits } from "../plan/compare-link.ts";
import { findAtPath, findById } from "../select/find-links.ts";
import { findEarlierWrite } from "./find-earlier-write.ts";

/**
 * Applies a plan: what is about to happen is written down before a request leaves, and how it ended
 * after that. Whoever is killed on the way leaves a few rows of which nobody knows, and those are
 * read back before they are touched again.
 */

export type Running = Asking & {
  readonly jobs: Jobs;
  readonly runner: string;
  /** Aborted when no more rows may begin; `signal` ends those that are on the way. */
  readonly stopped: AbortSignal;
  /** Waits until the next row is due: evenly, just under the budget. */
  readonly takeTurn: (action: PlanRow["action"]) => Promise<void>;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

const pageRows = 200;
/** A far deployment takes longer for a row than the next one's turn is away. */
const mostAtOnce = 8;
/** A row of which nobody knows may still be on its way over there. */
const looks_ms = [2000, 10_000];
/** Well within a lease. */
const beat_ms = 3000;
const patience_ms = [1000, 4000, 16_000];

/** Answers the state in which it leaves the job; what throws leaves it interrupted. */
export async function runJob(running: Running, { id }: Job): Promise<Job["state"]> {
  const run = { id, runner: running.runner };
  const heart = new AbortController();
  const beating = beat(running, run, heart.signal);
  try {
    return await applyPasses(running, run);
  } finally {
    heart.abort();
    await beating;
  }
}

/** A slow row must not look like a dead process. */
async function beat({ jobs, sleep }: Running, run: Run, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await sleep(beat_ms, ended).catch(() => undefined);
    if (!ended.aborted) await jobs.renew(run).catch(() => false);
  }
}

/** Ends at once where nothing more is to begin. */
async function pause({ sleep, stopped }: Running, milliseconds: number): Promise<void> {
  await sleep(milliseconds, stopped).catch(() => undefined);
}

/** Once through all rows, and then again through those of which nobody knows. */
async function applyPasses(running: Running, run: Run): Promise<Job["state"]> {
  for (const look_ms of [...looks_ms, undefined]) {
    const { isStopped, unknown } = await applyRows(running, run);
    // Where it was cancelled, the job says so by itself.
    if (isStopped) return "interrupted";
    if (unknown === 0) return "done";
    if (look_ms !== undefined) await pause(running, look_ms);
  }
  return "interrupted";
}

type Pass = { readonly isStopped: boolean; readonly unknown: number };

async function applyRows(running: Running, run: Run): Promise<Pass> {
  const { jobs, stopped } = running;
  const lanes = new Set<Promise<unknown>>();
  const mustBeAlone = startAlone();
  let unknown = 0;
  let isLost = false;
  let failure: { readonly error: unknown } | undefined;

  async function apply(receipt: Receipt): Promise<RowEnd | undefined> {
    const end = await applyPatiently(running, run, receipt);
    isLost ||= end === undefined;
    if (end?.status === "unknown") unknown += 1;
    if (end !== undefined) await jobs.noteEnd(run, receipt.planned.position, end);
    return end;
  }

  for await (const receipt of listOpen(jobs, run)) {
    const isAlone = mustBeAlone(receipt.planned);
    while (lanes.size >= (isAlone ? 1 : mostAtOnce)) await Promise.race(lanes);
    await takeTurn(running, receipt.planned);
    if (failure !== undefined || isLost || stopped.aborted) break;
    const lane = apply(receipt)
      .catch((error: unknown) => {
        failure ??= { error };
        return undefined;
      })
      .finally(() => lanes.delete(lane));
    lanes.add(lane);
    // What comes behind may need what this one leaves, of which nobody knows now.
    if (isAlone && (await lane)?.status === "unknown") break;
  }
  await Promise.all(lanes);
  if (failure !== undefined) throw failure.error;
  return { isStopped: isLost || stopped.aborted, unknown };
}

async function takeTurn(running: Running, { action }: PlanRow): Promise<void> {
  try {
    await running.takeTurn(action);
  } catch (error) {
    // Whoever is stopped need not wait.
    if (!running.stopped.aborted) throw error;
  }
}

/**
 * Who moves a path may need the place of a row before, or make one for a row behind; and of two who
 * bring the same new app, only one can register it.
 */
function startAlone(): (row: PlanRow) => boolean {
  const brought = new Set<string>();
  return (row) => {
    const { ios_app, android_app } = (row.fields ?? {}) as LinkFields;
    const names = [ios_app?.bundle_id, android_app?.package_name].filter((name) => !isBlank(name));
    const isNew = names.some((name) => !brought.has(name ?? ""));
    for (const name of names) brought.add(name ?? "");
    return isNew || movesPath(row);
  };
}

async function* listOpen(jobs: Jobs, run: Run): AsyncGenerator<Receipt> {
  for (let from = 0; ;) {
    const receipts = await jobs.listReceipts(run, { from, limit: pageRows, only: "open" });
    yield* receipts;
    const last = receipts.at(-1);
    if (last === undefined) return;
    from = last.planned.position + 1;
  }
}

function movesPath({ action, fields, path }: PlanRow): boolean {
  const moved = fields?.["path"];
  return action === "update" && moved !== undefined && moved !== path;
}

/** What passes is waited for; what stays ends the run, and every later row stays as it is. */
async function applyPatiently(
  running: Running,
  run: Run,
  receipt: Receipt,
): Promise<RowEnd | undefined> {
  for (const wait_ms of patience_ms) {
    try {
      return await applyRow(running, run, receipt);
    } catch (error) {
      if (!isPassing(error) || running.stopped.aborted) throw error;
      await pause(running, Math.max(wait_ms, (error.facts.retry_after_s ?? 0) * 1000));
    }
  }
  return applyRow(running, run, receipt);
}

function isPassing(error: unknown): error is CallFailure {
  return error instanceof CallFailure && error.facts.retry === "later";
}

/** Answers undefined where the job is not ours to go on with any more. */
async function applyRow(
  running: Running,
  run: Run,
  { planned, status }: Receipt,
): Promise<RowEnd | undefined> {
  const { jobs } = running;
  const isRepeat = status !== null;
  const drift = findDrift(planned, await readNow(running, planned));
  if (drift !== undefined) {
    const end: RowEnd = { status: "rejected", message: `plan_changed: ${drift}` };
    return isRepeat ? findEarlierWork(running, planned, end) : end;
  }
  if (!(await jobs.noteSent(run, planned.position))) return undefined;
  const end = await send(running, planned);
  return isRepeat && end.status === "rejected" ? findEarlierWork(running, planned, end) : end;
}

/**
 * What stands in the way of a row that was tried before may be the work of that try, and what was
 * on the way for long may have come through at any moment: looked for last, it is not missed.
 */
async function findEarlierWork(asking: Asking, planned: PlanRow, end: RowEnd): Promise<RowEnd> {
  try {
    const found = await findEarlierWrite(asking, planned);
    return found.isDone ? describeDone(planned, found.link) : end;
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    // The other rows need not wait for a right that this key may never have.
    return {
      status: "unknown",
      message: `It cannot be looked whether it is done: ${error.message}`,
    };
  }
}

/** The link that the row is about, as it is at this moment. */
function readNow(asking: Asking, { action, link_id, path }: PlanRow): Promise<Link | undefined> {
  return action === "create" ? findAtPath(asking, path ?? "") : findById(asking, link_id ?? "");
}

/** What changed since the plan was made, as the end of a sentence. */
function findDrift(
  { action, before }: Pick<PlanRow, "action" | "before">,
  now: Link | undefined,
): string | undefined {
  if (action === "create") return now === undefined ? undefined : "the path has a link by now";
  if (now === undefined) return "the link is gone";
  const edits = listEdits(before ?? {}, now);
  return edits.length === 0 ? undefined : `${edits.join(", ")} changed since`;
}

async function send(asking: Asking, row: PlanRow): Promise<RowEnd> {
  try {
    return describeDone(row, await write(asking, row));
  } catch (error) {
    if (error instanceof Problem && isOfRow(error)) {
      return { status: "rejected", message: error.message };
    }
    if (error instanceof CallFailure && error.facts.effect === "unknown") {
      return { status: "unknown", message: error.message };
    }
    // Neither the key nor the deployment takes what is to come: the row was not done.
    throw error;
  }
}

/** Whether the next row may fare better. */
function isOfRow({ status, message }: Problem): boolean {
  if (status !== 401) return ofRows.has(status);
  return ["plan_required", "role_required"].includes(readCause(message));
}

const ofRows: ReadonlySet<number> = new Set([400, 404, 409, 413, 414, 422]);

function describeDone({ action, link_id }: PlanRow, link: Link | null): RowEnd {
  const made = action === "create" && link !== null ? link : undefined;
  return { status: "done", link_id: link?.id ?? link_id ?? undefined, made };
}

function write({ call, signal }: Asking, row: PlanRow): Promise<Link | null> {
  const fields = (row.fields ?? {}) as LinkFields;
  const id = row.link_id ?? "";
  switch (row.action) {
    case "create":
      return call(links.upsert, { ...fields, path: row.path ?? "" }, signal);
    case "delete":
      return call(links.destroy, { id }, signal);
    default:
      return call(links.update, { ...fields, id }, signal);
  }
}
