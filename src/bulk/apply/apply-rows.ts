import { CallFailure } from "../../client/outcome.ts";
import { findWritten } from "../../client/find-written.ts";
import { readCause } from "../../contract/access.ts";
import type { WriteCondition } from "../../contract/condition.ts";
import type { CallAnswer, Endpoint } from "../../contract/endpoint.ts";
import { links, type LinkFields, type ReadLink } from "../../contract/links.ts";
import { Problem } from "../../contract/problem.ts";
import { isBlank } from "../../contract/text.ts";
import type { Receipt, RowEnd, Run } from "../../state/job-runs.ts";
import type { Jobs } from "../../state/jobs.ts";
import type { PlanAction, PlanRow } from "../../state/plans.ts";
import type { ServerAccess } from "../owner.ts";
import { listEdits } from "../plan/plan-rows.ts";
import { pickUnexpected } from "../plan/plan-undo.ts";
import { findAtPath, findById, unread } from "../select/find-links.ts";

/**
 * Applies a plan: what is about to happen is written down before a request leaves, and how it ended
 * after that. A process that is killed meanwhile leaves a few rows whose end is unknown, and those
 * are read back before they are sent again.
 */

export type RunContext = ServerAccess & {
  readonly jobs: Jobs;
  readonly run: Run;
  /** Aborted when no more rows may begin; `signal` ends those in progress. */
  readonly stopped: AbortSignal;
  /** Waits until the next row is due: evenly, just under the budget. */
  readonly waitForSpacing: (action: PlanRow["action"]) => Promise<void>;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

const pageRows = 200;
/** A remote server may take longer for a row than the spacing between two rows. */
const mostAtOnce = 8;
/** The limit on rows in progress, including rows whose results are being saved. */
const mostInHand = 2 * mostAtOnce;
/**
 * The waits between passes in which no row ended. A request of a row whose end is unknown may still
 * arrive at the server, and an outage may be short.
 */
const waits_ms = [2000, 5000, 15_000];

/**
 * Passes over the open rows until none is left. Returns the state in which it leaves the job; an
 * error leaves it interrupted.
 */
export async function runJob(context: RunContext): Promise<"done" | "interrupted"> {
  const unsent = new Set<number>();
  for (let tries = 0; ; tries += 1) {
    const { isStopped, ended, unknown, failure } = await applyRows(context, unsent);
    if (failure !== undefined && !isTemporary(failure)) throw failure;
    // A cancelled job has that state already.
    if (isStopped) return "interrupted";
    if (unknown === 0 && failure === undefined) return "done";
    if (ended > 0) tries = 0;
    const wait_ms = waits_ms[tries];
    if (wait_ms === undefined && failure !== undefined) throw failure;
    if (wait_ms === undefined) return "interrupted";
    const retryAfter_ms = (failure?.facts.retry_after_s ?? 0) * 1000;
    // A stop ends the wait.
    const waiting = context.sleep(Math.max(wait_ms, retryAfter_ms), context.stopped);
    await waiting.catch(() => undefined);
  }
}

function isTemporary(error: unknown): error is CallFailure {
  return error instanceof CallFailure && error.facts.retry === "later";
}

/**
 * One pass over the open rows. `unsent` holds the positions of rows that are noted as sent,
 * although no request of this job can have changed anything.
 */
async function applyRows(context: RunContext, unsent: Set<number>) {
  const { jobs, run, stopped } = context;
  const inFlight = new Set<Promise<unknown>>();
  const inHand = new Set<Promise<void>>();
  const mustBeAlone = createAloneCheck();
  const pass = { isStopped: false, ended: 0, unknown: 0, failure: undefined as unknown };

  async function apply(receipt: Receipt): Promise<void> {
    try {
      const mayBeWritten = receipt.status !== null && !unsent.has(receipt.position);
      const applying = applyRow(context, receipt, mayBeWritten).finally(() =>
        inFlight.delete(applying),
      );
      inFlight.add(applying);
      const end = await applying;
      if (end === undefined) pass.isStopped = true;
      else {
        await jobs.noteEnd(run, receipt.position, end);
        unsent.delete(receipt.position);
        pass[end.status === "unknown" ? "unknown" : "ended"] += 1;
      }
    } catch (error) {
      const isUnsent = error instanceof CallFailure && error.facts.effect === "none";
      if (isUnsent && receipt.status === null) unsent.add(receipt.position);
      pass.failure ??= error;
    }
  }

  try {
    for await (const receipt of listOpen(context)) {
      const isAlone = mustBeAlone(receipt);
      while (inFlight.size >= mostAtOnce) await Promise.race(inFlight).catch(() => undefined);
      while (inHand.size >= (isAlone ? 1 : mostInHand)) await Promise.race(inHand);
      await context.waitForSpacing(receipt.action).catch((error: unknown) => {
        // A stopped run need not wait.
        if (!stopped.aborted) throw error;
      });
      pass.isStopped ||= stopped.aborted;
      if (pass.failure !== undefined || pass.isStopped) break;
      const doubts = pass.unknown;
      const applying = apply(receipt).finally(() => inHand.delete(applying));
      inHand.add(applying);
      if (!isAlone) continue;
      // Later rows may need the result of this one, so it is known and saved before they begin.
      await applying;
      if (pass.unknown > doubts) break;
    }
  } finally {
    // The process that resumes the job must find no row of this one in progress.
    await Promise.all(inHand);
  }
  pass.isStopped ||= stopped.aborted;
  return pass;
}

/**
 * A row that moves a path may need the path of an earlier row, or free one for a later row; and of
 * two rows that bring the same new app, only one can register it.
 */
function createAloneCheck(): (row: PlanRow) => boolean {
  const brought = new Set<string>();
  return (row) => {
    const { ios_app, android_app } = (row.fields ?? {}) as LinkFields;
    const names = [ios_app?.bundle_id, android_app?.package_name].filter((name) => !isBlank(name));
    const isNew = names.some((name) => !brought.has(name ?? ""));
    for (const name of names) brought.add(name ?? "");
    return isNew || movesPath(row);
  };
}

function movesPath({ action, fields, path }: PlanRow): boolean {
  const moved = fields?.["path"];
  return action === "update" && moved !== undefined && moved !== path;
}

async function* listOpen({ jobs, run }: RunContext): AsyncGenerator<Receipt> {
  for (let from = 0; ;) {
    const receipts = await jobs.listReceipts(run, { from, limit: pageRows, only: "open" });
    yield* receipts;
    const last = receipts.at(-1);
    if (last === undefined) return;
    from = last.position + 1;
  }
}

/** Returns undefined when another process has the job by now, or it was cancelled. */
async function applyRow(
  context: RunContext,
  row: Receipt,
  mayBeWritten: boolean,
): Promise<RowEnd | undefined> {
  const end = await sendUnlessChanged(context, row);
  return mayBeWritten && end?.status === "rejected" ? findEarlierWrite(context, row, end) : end;
}

async function sendUnlessChanged(context: RunContext, row: PlanRow): Promise<RowEnd | undefined> {
  const { action, link_id, path } = row;
  const now = await (action === "create"
    ? findAtPath(context, path ?? "")
    : findById(context, link_id ?? ""));
  const change = findChange(row, now);
  if (now === unread || change !== undefined) {
    return { status: "rejected", message: `plan_changed: ${change}` };
  }
  if (!(await context.jobs.noteSent(context.run, row.position))) return undefined;
  return sendRow(context, row, now === undefined ? "absent" : { shown: now });
}

/**
 * The rejection of a row that was sent before may be the effect of that first request. It may have
 * arrived at any moment, so this is checked last. A path or an id identifies one link, regardless
 * of which request wrote it.
 */
async function findEarlierWrite(
  asking: ServerAccess,
  planned: PlanRow,
  end: RowEnd,
): Promise<RowEnd> {
  const { action, link_id, path, fields } = planned;
  try {
    const finding = await findWritten(findEndpoint(action), {
      ask: (endpoint, input) => asking.call(endpoint, input, asking.signal),
      id: link_id ?? "",
      sent: action === "create" ? { ...(fields as LinkFields), path } : (fields ?? {}),
      since: "",
      isSameTime: () => true,
    });
    if (finding.kind !== "done") return end;
    // These endpoints return a link, and nothing for a deleted one.
    return describeDone(planned, finding.body);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    // The other rows need not wait for a permission that this key may never have.
    const message = `Waypost could not check whether this was done: ${error.message}`;
    return { status: "unknown", message };
  }
}

function findEndpoint(action: PlanAction): Endpoint {
  if (action === "create") return links.upsert;
  return action === "delete" ? links.destroy : links.update;
}

/** What changed since the plan was made, as the end of a sentence. */
function findChange(
  { action, before }: PlanRow,
  now: ReadLink | typeof unread | undefined,
): string | undefined {
  if (now === unread) return "a link that could not be read may now have this path";
  if (action === "create") return now === undefined ? undefined : "a link now has this path";
  if (now === undefined) return "the link no longer exists";
  const edits = listEdits(before ?? {}, now);
  return edits.length === 0 ? undefined : `${edits.join(", ")} changed after the plan was made`;
}

type WrittenLink = CallAnswer<typeof links.update>;

/** Throws a failure that would also concern other rows. */
async function sendRow(
  asking: ServerAccess,
  row: PlanRow,
  condition: WriteCondition,
): Promise<RowEnd> {
  try {
    return describeDone(row, await write(asking, row, condition));
  } catch (error) {
    if (error instanceof Problem && error.status === 412) {
      return { status: "rejected", message: "plan_changed: the link changed just now" };
    }
    if (error instanceof Problem && concernsRowAlone(error)) {
      return { status: "rejected", message: error.message };
    }
    if (error instanceof CallFailure && error.facts.effect === "unknown") {
      return { status: "unknown", message: error.message };
    }
    // The server would refuse every later row too, and this one was not done.
    throw error;
  }
}

const rowStatuses: ReadonlySet<number> = new Set([400, 404, 409, 413, 414, 422]);

/** Whether the next row may succeed although this one was refused. */
function concernsRowAlone({ status, message }: Problem): boolean {
  if (status !== 401) return rowStatuses.has(status);
  return ["plan_required", "role_required"].includes(readCause(message));
}

/**
 * Saves the part of the response that the row does not predict: an undo compares the link with it.
 */
function describeDone(row: PlanRow, link: WrittenLink | null): RowEnd {
  const { action, link_id } = row;
  if (link?.id !== undefined) {
    return { status: "done", link_id: link.id, made: pickUnexpected(row, link) };
  }
  if (action !== "create" || link === null) {
    return { status: "done", link_id: link_id ?? undefined };
  }
  return {
    status: "done",
    message: "Done, but the response could not be read, so the ID is unknown",
  };
}

function write(
  { call, signal }: ServerAccess,
  row: PlanRow,
  condition: WriteCondition,
): Promise<WrittenLink | null> {
  const fields = (row.fields ?? {}) as LinkFields;
  const id = row.link_id ?? "";
  const options = { condition, isPatient: true };
  switch (row.action) {
    case "create":
      // A row with an id restores that link from the bin.
      if (row.link_id !== null) return call(links.restore, { id }, signal, { isPatient: true });
      return call(links.upsert, { ...fields, path: row.path ?? "" }, signal, options);
    case "delete":
      return call(links.destroy, { id }, signal, options);
    default:
      return call(links.update, { ...fields, id }, signal, options);
  }
}
