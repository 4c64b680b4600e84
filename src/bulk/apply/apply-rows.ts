import { setImmediate as nextTurn } from "node:timers/promises";
import type { ServerAccess } from "../../client/client.ts";
import { CallFailure } from "../../client/outcome.ts";
import { findWritten } from "../../client/find-written.ts";
import { readCause } from "../../contract/access.ts";
import type { WriteCondition } from "../../contract/condition.ts";
import type { CallAnswer, Endpoint } from "../../contract/endpoint.ts";
import { links, type LinkFields, type ReadLink } from "../../contract/links.ts";
import { Problem } from "../../contract/problem.ts";
import { listEdited, listWritable } from "../../contract/rules/writable-fields.ts";
import { isBlank } from "../../contract/text.ts";
import type { Receipt, RowEnd, Run } from "../../state/job-runs.ts";
import type { Jobs } from "../../state/jobs.ts";
import type { PlanAction, PlanRow } from "../../state/plans.ts";
import { findAtPath, findById, unread } from "../find-links.ts";

/**
 * Applies a plan. Each row is recorded before its request is sent, and again with its result. After
 * a crash, a row without a result is checked on the server before it is sent again.
 */

export type RunContext = ServerAccess & {
  readonly jobs: Jobs;
  readonly run: Run;
  /** Aborted when no more rows may start. Rows in progress continue, unless `signal` is aborted. */
  readonly stopped: AbortSignal;
  /** Waits until the row may be sent. Rows are spaced evenly, just below the rate limit. */
  readonly waitForSpacing: (action: PlanRow["action"]) => Promise<void>;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

const pageRows = 200;
/** Rows run in parallel, because a remote server may be slower than the spacing between rows. */
const mostAtOnce = 8;
/** The maximum number of rows in progress, including those whose results are being saved. */
const mostUnsaved = 2 * mostAtOnce;
/**
 * How long to wait after a pass in which no row finished. By then, an outage may have ended, or a
 * request without a response may have reached the server.
 */
const waits_ms = [2000, 5000, 15_000];

/**
 * Makes passes over the unfinished rows until all are done, or several passes make no progress.
 * Returns the job's final state. Throws if an error occurs that a retry cannot fix.
 */
export async function runJob(context: RunContext): Promise<"done" | "interrupted"> {
  const unsent = new Set<number>();
  for (let tries = 0; ; tries += 1) {
    const { isStopped, ended, unknown, failure } = await applyRows(context, unsent);
    const isTemporary = failure instanceof CallFailure && failure.facts.retry === "later";
    if (failure !== undefined && !isTemporary) throw failure;
    // If the job was cancelled, its state in the database stays `cancelled`.
    if (isStopped) return "interrupted";
    if (unknown === 0 && failure === undefined) return "done";
    if (ended > 0) tries = 0;
    const wait_ms = waits_ms[tries];
    if (wait_ms === undefined && failure !== undefined) throw failure;
    if (wait_ms === undefined) return "interrupted";
    const retryAfter_ms = isTemporary ? (failure.facts.retry_after_s ?? 0) * 1000 : 0;
    const waiting = context.sleep(Math.max(wait_ms, retryAfter_ms), context.stopped);
    await waiting.catch(() => undefined);
  }
}

/**
 * Makes one pass over the unfinished rows. `unsent` contains the positions of rows that were
 * recorded as sent, but whose requests never reached the server.
 */
async function applyRows(context: RunContext, unsent: Set<number>) {
  const { jobs, run, stopped } = context;
  const inFlight = new Set<Promise<unknown>>();
  const unsaved = new Set<Promise<void>>();
  const mustRunAlone = createExclusiveCheck();
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
    const readOpen = (page: PositionPage) => jobs.listReceipts(run, { ...page, only: "open" });
    for await (const receipt of readInPages(readOpen)) {
      const isAlone = mustRunAlone(receipt);
      while (inFlight.size >= mostAtOnce) await Promise.race(inFlight).catch(() => undefined);
      while (unsaved.size >= (isAlone ? 1 : mostUnsaved)) await Promise.race(unsaved);
      await context.waitForSpacing(receipt.action).catch((error: unknown) => {
        // If the job is stopped, the wait throws. That error is ignored.
        if (!stopped.aborted) throw error;
      });
      pass.isStopped ||= stopped.aborted;
      if (pass.failure !== undefined || pass.isStopped) break;
      const doubts = pass.unknown;
      const applying = apply(receipt).finally(() => unsaved.delete(applying));
      unsaved.add(applying);
      if (!isAlone) continue;
      // Save this row's result before later rows start, because they may depend on this row.
      await applying;
      if (pass.unknown > doubts) break;
    }
  } finally {
    // All rows must have finished before another process may resume the job.
    await Promise.all(unsaved);
  }
  pass.isStopped ||= stopped.aborted;
  return pass;
}

/**
 * Returns a function that checks whether a row must run by itself. A row that changes a path may
 * need a path that an earlier row frees, or may free a path for a later row. If two rows use the
 * same new app, only the first may register it.
 */
function createExclusiveCheck(): (row: PlanRow) => boolean {
  const introduced = new Set<string>();
  return (row) => {
    const { ios_app, android_app } = (row.fields ?? {}) as LinkFields;
    const names = [ios_app?.bundle_id, android_app?.package_name].filter((name) => !isBlank(name));
    const isNew = names.some((name) => !introduced.has(name ?? ""));
    for (const name of names) introduced.add(name ?? "");
    const moved = row.fields?.["path"];
    return isNew || (row.action === "update" && moved !== undefined && moved !== row.path);
  };
}

type PositionPage = { readonly from: number; readonly limit: number };

export async function* readInPages<Row extends { readonly position: number }>(
  readPage: (page: PositionPage) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  for (let from = 0; ;) {
    const rows = await readPage({ from, limit: pageRows });
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    from = last.position + 1;
    // With SQLite, reading a page is synchronous, so let other work run between pages.
    await nextTurn();
  }
}

/** Returns undefined if the job was cancelled or another process has claimed it. */
async function applyRow(
  context: RunContext,
  row: Receipt,
  mayBeWritten: boolean,
): Promise<RowEnd | undefined> {
  const end = await sendUnlessChanged(context, row);
  return mayBeWritten && end?.status === "rejected" ? findEarlierWrite(context, row, end) : end;
}

async function sendUnlessChanged(context: RunContext, row: PlanRow): Promise<RowEnd | undefined> {
  const now = await findTarget(context, row);
  const change = findChange(row, now);
  if (now === unread || change !== undefined) {
    return { status: "rejected", message: `plan_changed: ${change}` };
  }
  if (!(await context.jobs.noteSent(context.run, row.position))) return undefined;
  return sendRow(context, row, now === undefined ? "absent" : { shown: now });
}

/**
 * Finds the link that a row would change. For a row that creates a link, finds a link that already
 * has the path.
 */
export function findTarget(asking: ServerAccess, { action, link_id, path }: PlanRow) {
  return action === "create" ? findAtPath(asking, path ?? "") : findById(asking, link_id ?? "");
}

/**
 * Checks whether a retry was rejected because an earlier attempt at this row had succeeded. Runs
 * after the retry, because the earlier request may arrive late.
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
    });
    if (finding.kind !== "done") return end;
    // The response contains the written link. After a deletion, it is empty.
    return describeDone(planned, finding.body);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    // The key may not read links. Keep the row's result unknown, and continue with other rows.
    const message = `Waypost could not check whether this was done: ${error.message}`;
    return { status: "unknown", message };
  }
}

function findEndpoint(action: PlanAction): Endpoint {
  if (action === "create") return links.upsert;
  return action === "delete" ? links.destroy : links.update;
}

function findChange(
  { action, before }: PlanRow,
  now: ReadLink | typeof unread | undefined,
): string | undefined {
  if (now === unread) return "a link that could not be read may now have this path";
  if (action === "create") return now === undefined ? undefined : "a link now has this path";
  if (now === undefined) return "the link no longer exists";
  const edits = listEdited(links.update, before ?? {}, now);
  return edits.length === 0 ? undefined : `${edits.join(", ")} changed after the plan was made`;
}

type WrittenLink = CallAnswer<typeof links.update>;

/** Sends a row. Throws if the failure would affect other rows too. */
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
    if (error instanceof Problem && affectsOnlyRow(error)) {
      return { status: "rejected", message: error.message };
    }
    if (error instanceof CallFailure && error.facts.effect === "unknown") {
      return { status: "unknown", message: error.message };
    }
    throw error;
  }
}

const rowStatuses: ReadonlySet<number> = new Set([400, 404, 409, 413, 414, 422]);

/** Whether a rejection concerns only this row, so that other rows may succeed. */
function affectsOnlyRow({ status, message }: Problem): boolean {
  if (status !== 401) return rowStatuses.has(status);
  return ["plan_required", "role_required"].includes(readCause(message));
}

/**
 * Returns the row's result. It includes the written fields, because an undo compares the link with
 * them.
 */
function describeDone({ action, link_id }: PlanRow, link: WrittenLink | null): RowEnd {
  const status = "done";
  if (link?.id !== undefined) {
    const names = listWritable(links.update, link);
    const made = Object.fromEntries(names.map((name) => [name, link[name]]));
    return { status, link_id: link.id, made };
  }
  if (action !== "create" || link === null) return { status, link_id: link_id ?? undefined };
  return { status, message: "Done, but the response could not be read, so the ID is unknown" };
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
      if (row.link_id !== null) return call(links.restore, { id }, signal, { isPatient: true });
      return call(links.upsert, { ...fields, path: row.path ?? "" }, signal, options);
    case "delete":
      return call(links.destroy, { id }, signal, options);
    default:
      return call(links.update, { ...fields, id }, signal, options);
  }
}
