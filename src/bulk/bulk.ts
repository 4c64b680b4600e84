import { setImmediate as nextTurn } from "node:timers/promises";
import type { ClockAndRandom } from "../contract/clock.ts";
import type { FilterInput } from "../contract/filters.ts";
import { toSignal, type Leaving } from "../contract/waiting.ts";
import type { ReadLink } from "../contract/links.ts";
import { isStorable } from "../contract/text.ts";
import { createPrefixedId } from "../state/tables.ts";
import type { ReceiptPage } from "../state/job-runs.ts";
import type { Job } from "../state/jobs.ts";
import type { ExpiringValues } from "../state/expiring-values.ts";
import { writeActions, type Plan, type PlanRow, type RowPage } from "../state/plans.ts";
import type { State } from "../state/state.ts";
import { createRunner, type RunnerOptions } from "./apply/job-runner.ts";
import { LineBusy, throwIfCancelled, WorkCancelled } from "./bulk-errors.ts";
import { createExportCount, writePages, type ExportFormat } from "./files/write-links.ts";
import { onlyOwn, type Owner } from "./owner.ts";
import { makePlan, type PlanWanted } from "./plan/make-plan.ts";
import { listWrittenLinks } from "./plan/seen-hosts.ts";
import { summarizePlan } from "./plan/summarize-plan.ts";
import type { InTime } from "./select/limit-time.ts";
import { readWithin, selectParts } from "./select/select-links.ts";

/** Many changes at once: planned, approved, applied at the budget's pace, and resumed. */

export type Bulk = ReturnType<typeof createBulk>;

type ExportWanted = {
  readonly filters: readonly FilterInput[];
  readonly search?: string | undefined;
  readonly format: ExportFormat;
};

const jobsPerPage = 20;
const pageBytes = 4 * 1024 * 1024;
const rowsTogether = 500;

/** Work that reads many links waits for its turn first, and ends when the caller disconnects. */
export function createBulk(options: RunnerOptions) {
  const { openState, random, sleep, clock } = options;
  const runInLine = createLine(sleep);
  const life = new AbortController();
  const runInTurn = <Result>(
    { key_print }: Pick<Owner, "key_print">,
    left: Leaving | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ) => {
    const ends = left === undefined ? [] : [toSignal(left)];
    const signal = AbortSignal.any([life.signal, ...ends]);
    return runInLine(key_print, signal, () => work(signal));
  };
  return {
    ...createRunner(options, life),
    plan: (wanted: PlanWanted, owner: Owner, left?: Leaving) =>
      runInTurn(owner, left, async (signal) =>
        makePlan({ state: await openState(), random, signal }, wanted, owner),
      ),
    /** Undefined when no plan has this id, or when another key made it. */
    findPlan: async (id: string, owner: Owner) =>
      isStorable(id) ? onlyOwn(await (await openState()).plans.find(id), owner) : undefined,
    listRows: async ({ id }: Plan, page: RowPage) => (await openState()).plans.listRows(id, page),
    readWrites: async function* (plan: Plan) {
      yield* readWrites(await openState(), plan);
    },
    /** What the whole plan would do; for a job, what is left of it. */
    summarize: (
      plan: Plan,
      owner: Owner,
      { job, signal: left }: { readonly job?: Job | undefined; readonly signal?: Leaving } = {},
    ) =>
      runInTurn(owner, left, async (signal) => {
        const state = await openState();
        const { call, realm } = owner;
        const readWritten = (since: number) => listWrittenLinks(state.history, realm, since);
        const asking = { call, signal, clock, readWritten };
        return summarizePlan(asking, plan, readWrites(state, plan, job));
      }),
    findJob: async (id: string, owner: Owner) =>
      isStorable(id) ? onlyOwn(await (await openState()).jobs.find(id), owner) : undefined,
    listJobs: async ({ key_print }: Owner, page: number) =>
      listJobs(await openState(), key_print, page),
    listReceipts: async (job: Job, page: ReceiptPage) =>
      (await openState()).jobs.listReceipts(job, page),
    /** Saves every matching link to a file of several pages, and reports what could not be read. */
    exportLinks: (wanted: ExportWanted, owner: Owner, left?: Leaving) =>
      runInTurn(owner, left, (signal) => saveExport(options, wanted, owner, signal)),
    /** Hands over the matching links until the time is up. */
    readLinks: (
      filters: readonly FilterInput[],
      take: (links: readonly ReadLink[]) => void,
      owner: Pick<Owner, "key_print">,
      inTime: InTime,
    ) =>
      runInTurn(owner, inTime.signal, (signal) => readWithin({ ...inTime, signal }, filters, take)),
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
  { filters, search, format }: ExportWanted,
  { key_print, call, linkHost }: Owner,
  signal: AbortSignal,
) {
  const counting = createExportCount();
  const parts = selectParts({ call, signal, linkHost }, filters, search);
  // A key that may not read links is refused before anything is opened or saved.
  const counted = await readAhead(counting.pass(parts));
  const type = format === "csv" ? "text/csv" : "application/json";
  const file = { type, texts: writePages(counted, format, pageBytes) };
  const { kept } = await options.openState();
  const saved = await saveExportPages(kept, file, key_print, options);
  return { ...saved, count: counting.readCount(), lacks: counting.listLacks() };
}

/** The rows that write; for a job, only the unfinished ones. */
async function* readWrites({ plans, jobs }: State, plan: Plan, job?: Job): AsyncGenerator<PlanRow> {
  for (let from = 0; ;) {
    const page = { from, limit: rowsTogether };
    const rows: readonly PlanRow[] =
      job === undefined
        ? await plans.listRows(plan.id, { actions: writeActions, ...page })
        : await jobs.listReceipts(job, { only: "open", ...page });
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsTogether) return;
    from = last.position + 1;
    // Rows are read at once, and other work needs the event loop as well.
    await nextTurn();
  }
}

async function readAhead<Item>(items: AsyncGenerator<Item>): Promise<AsyncGenerator<Item>> {
  const first = await items.next();
  return (async function* () {
    if (first.done !== true) yield first.value;
    yield* items;
  })();
}

/** Exported files of links, which an assistant reads page by page within an hour. */

export async function saveExportPages(
  kept: ExpiringValues,
  { type, texts }: { readonly type: string; readonly texts: AsyncIterable<string> },
  owner: string,
  { clock, random }: ClockAndRandom,
) {
  const id = createPrefixedId("export", random);
  const at = clock.now();
  const keys: string[] = [];
  try {
    for await (const text of texts) {
      const key = writeKey(owner, id, keys.length + 1);
      keys.push(key);
      await kept.save("export_page", key, { type, text }, { owner, at });
    }
  } catch (error) {
    await kept.remove("export_page", keys);
    throw error;
  }
  return { id, pages: keys.length };
}

export async function findExportPage(
  kept: ExpiringValues,
  owner: string,
  id: string,
  page: number,
) {
  return (await kept.find("export_page", writeKey(owner, id, page)))?.value;
}

function writeKey(owner: string, id: string, page: number): string {
  return `${owner} ${id} ${page}`;
}

/** Reading and comparing many links takes memory that all keys share, so keys take turns. */

const mostOfKey = 2;
const mostOfAll = 4;
const mostWaiting = 20;
const mostWait_ms = 30_000;

/** Runs each work when its turn comes, and fails when the wait is too long. */
export function createLine(sleep: RunnerOptions["sleep"]) {
  /** The key of each piece of work in progress. */
  const working: string[] = [];
  const waiting = new Set<{ readonly key: string; readonly begin: () => void }>();
  const countOf = (key: string) => working.filter((each) => each === key).length;
  const mayBegin = (key: string) => working.length < mostOfAll && countOf(key) < mostOfKey;

  return async <Result>(key: string, signal: AbortSignal, work: () => Promise<Result>) => {
    throwIfCancelled(signal);
    if (mayBegin(key)) working.push(key);
    else await waitForTurn(key, signal);
    try {
      return await work();
    } finally {
      working.splice(working.indexOf(key), 1);
      beginNext();
    }
  };

  /** Begins the work that has waited longest, from the keys with the least work in progress. */
  function beginNext(): void {
    const least = [...waiting].toSorted((a, b) => countOf(a.key) - countOf(b.key));
    least.find(({ key }) => mayBegin(key))?.begin();
  }

  async function waitForTurn(key: string, signal: AbortSignal): Promise<void> {
    if (waiting.size >= mostWaiting) throw new LineBusy(mostWait_ms);
    const turn = new AbortController();
    const begin = () => {
      working.push(key);
      waiting.delete(waiter);
      turn.abort();
    };
    const waiter = { key, begin };
    waiting.add(waiter);
    await sleep(mostWait_ms, AbortSignal.any([signal, turn.signal])).catch(() => undefined);
    // A turn, a cancellation and the timeout may coincide: a turn counts.
    if (!waiting.delete(waiter)) return;
    throw signal.aborted ? new WorkCancelled() : new LineBusy(mostWait_ms);
  }
}
