import { CallFailure, failCancelledUnsent } from "../client/outcome.ts";
import type { FilterInput } from "../contract/filters.ts";
import { toSignal, type CallerSignal } from "../contract/waiting.ts";
import { isStorable } from "../contract/text.ts";
import { findExportPage, saveExportPages } from "../state/expiring-values.ts";
import type { ReceiptPage } from "../state/job-runs.ts";
import type { Job } from "../state/jobs.ts";
import { writeActions, type Plan, type PlanRow, type RowPage } from "../state/plans.ts";
import type { State } from "../state/state.ts";
import { readInPages } from "./apply/apply-rows.ts";
import { createRunner, type RunnerOptions } from "./apply/job-runner.ts";
import { createExportCount, writePages, type ExportFormat } from "./files/write-links.ts";
import { keepOwn, type Owner } from "./owner.ts";
import { makePlan, type PlanInput } from "./plan/make-plan.ts";
import { selectParts } from "../lists/select-links.ts";

/** Bulk changes: planning, approval, applying within the rate limit, and resuming. */

export type Bulk = ReturnType<typeof createBulk>;

type ExportRequest = {
  readonly filters: readonly FilterInput[];
  readonly search?: string | undefined;
  readonly format: ExportFormat;
};

const jobsPerPage = 20;
const pageBytes = 4 * 1024 * 1024;

/**
 * Manages plans, jobs and exports. Plans and exports read many links, so they wait in a queue, and
 * are cancelled when the caller disconnects.
 */
export function createBulk(options: RunnerOptions) {
  const { openState, random, sleep } = options;
  const runInQueue = createQueue(sleep);
  const life = new AbortController();
  const runQueued = <Result>(
    { key_print }: Owner,
    signal: CallerSignal | undefined,
    work: (combined: AbortSignal) => Promise<Result>,
  ) => {
    const combined = AbortSignal.any([life.signal, ...(signal ? [toSignal(signal)] : [])]);
    return runInQueue(key_print, combined, () => work(combined));
  };
  return {
    ...createRunner(options, life),
    plan: (wanted: PlanInput, owner: Owner, signal?: CallerSignal) =>
      runQueued(owner, signal, async (combined) =>
        makePlan({ state: await openState(), random, signal: combined }, wanted, owner),
      ),
    /** Returns undefined if the plan does not exist or was made by another key. */
    findPlan: async (id: string, owner: Owner) =>
      isStorable(id) ? keepOwn(await (await openState()).plans.find(id), owner) : undefined,
    listRows: async ({ id }: Plan, page: RowPage) => (await openState()).plans.listRows(id, page),
    /**
     * Yields the rows of the plan that change links. If a job is given, yields only the rows that
     * the job has not finished.
     */
    readWrites: async function* (plan: Plan, job?: Job) {
      const { plans, jobs } = await openState();
      yield* readInPages<PlanRow>((page) =>
        job === undefined
          ? plans.listRows(plan.id, { actions: writeActions, ...page })
          : jobs.listReceipts(job, { only: "open", ...page }),
      );
    },
    runQueued,
    findJob: async (id: string, owner: Owner) =>
      isStorable(id) ? keepOwn(await (await openState()).jobs.find(id), owner) : undefined,
    listJobs: async ({ key_print }: Owner, page: number) =>
      listJobs(await openState(), key_print, page),
    listReceipts: async (job: Job, page: ReceiptPage) =>
      (await openState()).jobs.listReceipts(job, page),
    exportLinks: (wanted: ExportRequest, owner: Owner, signal?: CallerSignal) =>
      runQueued(owner, signal, (combined) => saveExport(options, wanted, owner, combined)),
    findExport: async (id: string, page: number, { key_print }: Owner) =>
      findExportPage((await openState()).kept, key_print, id, page),
  };
}

async function listJobs({ jobs }: State, key_print: string, page: number) {
  const found = await jobs.list(key_print, (page - 1) * jobsPerPage, jobsPerPage);
  const count = await jobs.count(key_print);
  const last = Math.max(1, Math.ceil(count / jobsPerPage));
  const next = page < last ? { next: page + 1 } : {};
  return { jobs: found, meta: { page, limit: jobsPerPage, count, last, ...next } };
}

async function saveExport(
  options: RunnerOptions,
  { filters, search, format }: ExportRequest,
  { key_print, call }: Owner,
  signal: AbortSignal,
) {
  const counting = createExportCount();
  const parts = selectParts({ call, signal }, filters, search);
  const type = format === "csv" ? "text/csv" : "application/json";
  const file = { type, texts: writePages(counting.pass(parts), format, pageBytes) };
  const openKept = async () => (await options.openState()).kept;
  const saved = await saveExportPages(openKept, file, key_print, options);
  return { ...saved, count: counting.readCount(), lacks: counting.listMissing() };
}

const mostPerKey = 2;
const mostRunning = 4;
const mostWaiting = 20;
const mostWait_ms = 30_000;

/**
 * Limits how many tasks run at once, in total and per key, because plans and exports need a lot of
 * memory. Throws if a task would have to wait too long.
 */
export function createQueue(sleep: RunnerOptions["sleep"]) {
  const running: string[] = [];
  /** Maps a waiting task's controller to its key. Aborting the controller starts the task. */
  const waiting = new Map<AbortController, string>();
  const countOf = (key: string) => running.filter((each) => each === key).length;
  const mayStart = (key: string) => running.length < mostRunning && countOf(key) < mostPerKey;

  return async <Result>(key: string, signal: AbortSignal, work: () => Promise<Result>) => {
    if (signal.aborted) throw failCancelledUnsent();
    if (mayStart(key)) running.push(key);
    else await waitInQueue(key, signal);
    try {
      return await work();
    } finally {
      running.splice(running.indexOf(key), 1);
      startNext();
    }
  };

  /** Starts the oldest waiting task of the key with the fewest running tasks. */
  function startNext(): void {
    const least = [...waiting].toSorted(([, one], [, other]) => countOf(one) - countOf(other));
    const next = least.find(([, key]) => mayStart(key));
    if (next === undefined) return;
    const [turn, key] = next;
    running.push(key);
    waiting.delete(turn);
    turn.abort();
  }

  async function waitInQueue(key: string, signal: AbortSignal): Promise<void> {
    if (waiting.size >= mostWaiting) throw failBusy();
    const turn = new AbortController();
    waiting.set(turn, key);
    await sleep(mostWait_ms, AbortSignal.any([signal, turn.signal])).catch(() => undefined);
    // A task that `startNext` took runs, even if it was cancelled at the same time.
    if (!waiting.delete(turn)) return;
    throw signal.aborted ? failCancelledUnsent() : failBusy();
  }
}

function failBusy(): CallFailure {
  const message = "Too many plans and exports are running at once; nothing was done.";
  const retry_after_s = mostWait_ms / 1000;
  return new CallFailure("overloaded", message, { effect: "none", retry: "later", retry_after_s });
}
