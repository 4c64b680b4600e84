import type { Meta } from "../contract/fields.ts";
import type { FilterInput } from "../contract/filters.ts";
import { toSignal, type Leaving } from "../contract/leaving.ts";
import type { ReadLink } from "../contract/links.ts";
import { isStorable } from "../contract/text.ts";
import type { Receipt, ReceiptPage } from "../state/job-runs.ts";
import type { Job } from "../state/jobs.ts";
import { writeActions, type Plan, type PlanRow, type RowPage } from "../state/plans.ts";
import type { State } from "../state/state.ts";
import { createRunner, type Runner, type RunnerOptions } from "./apply/job-runner.ts";
import {
  findExportPage,
  saveExportPages,
  type ExportPage,
  type SavedPages,
} from "./export-pages.ts";
import {
  countEach,
  listLacks,
  startCount,
  writePages,
  type ExportFormat,
} from "./files/write-links.ts";
import { createLine } from "./line.ts";
import { onlyOwn, type Owner } from "./owner.ts";
import { makePlan, type MadePlan, type PlanWanted } from "./plan/make-plan.ts";
import { listWrittenLinks } from "./plan/seen-hosts.ts";
import { summarizePlan, type PlanSummary } from "./plan/summarize-plan.ts";
import type { InTime } from "./select/limit-time.ts";
import { readWithin, selectParts, type ReadWithin } from "./select/select-links.ts";

/** Many changes at once: planned, approved, applied at the budget's pace, and resumed. */

export type Bulk = Runner & {
  /** Waits for its turn first, as an export does; ends when the signal is aborted. */
  readonly plan: (wanted: PlanWanted, owner: Owner, signal?: Leaving) => Promise<MadePlan>;
  /** Undefined for another key's plan as for none at all. */
  readonly findPlan: (id: string, owner: Owner) => Promise<Plan | undefined>;
  readonly listRows: (plan: Plan, page: RowPage) => Promise<readonly PlanRow[]>;
  /** What the whole plan would do; of a job, what is left of it. It waits in line, as a plan. */
  readonly summarize: (
    plan: Plan,
    owner: Owner,
    wanted?: { readonly job?: Job | undefined; readonly signal?: Leaving },
  ) => Promise<PlanSummary>;
  readonly findJob: (id: string, owner: Owner) => Promise<Job | undefined>;
  readonly listJobs: (owner: Owner, page: number) => Promise<JobPage>;
  readonly listReceipts: (job: Job, page: ReceiptPage) => Promise<readonly Receipt[]>;
  /** Every link that the filters name as a file, in pages. */
  readonly exportLinks: (
    wanted: ExportWanted,
    owner: Owner,
    signal?: Leaving,
  ) => Promise<SavedExport>;
  /** Hands over the links that the filters name, until the time is up. */
  readonly readLinks: (
    filters: readonly FilterInput[],
    take: (links: readonly ReadLink[]) => void,
    owner: Pick<Owner, "key_print">,
    inTime: InTime,
  ) => Promise<ReadWithin>;
  readonly findExport: (id: string, page: number, owner: Owner) => Promise<ExportPage | undefined>;
};

type SavedExport = SavedPages & {
  readonly count: number;
  /** What is not in it, or not known of what is. */
  readonly lacks: readonly string[];
};

export type JobPage = {
  readonly jobs: readonly Job[];
  readonly meta: Pick<Meta, "page" | "limit" | "count" | "last" | "next">;
};

type ExportWanted = {
  readonly filters: readonly FilterInput[];
  readonly search?: string | undefined;
  readonly format: ExportFormat;
};

const jobsPerPage = 20;
const pageBytes = 4 * 1024 * 1024;
const rowsTogether = 500;

export function createBulk(options: RunnerOptions): Bulk {
  const { openState, random, sleep, clock } = options;
  const line = createLine(sleep);
  const life = new AbortController();
  /** Until the process ends, or the caller's signal is aborted. */
  const limit = (signal: Leaving | undefined) =>
    signal === undefined ? life.signal : AbortSignal.any([life.signal, toSignal(signal)]);
  return {
    ...createRunner(options, life),
    plan: (wanted, owner, given) => {
      const signal = limit(given);
      return line.run(owner.key_print, signal, async () =>
        makePlan({ state: await openState(), random, signal }, wanted, owner),
      );
    },
    findPlan: async (id, owner) =>
      isStorable(id) ? onlyOwn(await (await openState()).plans.find(id), owner) : undefined,
    listRows: async ({ id }, page) => (await openState()).plans.listRows(id, page),
    summarize: (plan, { key_print, call, realm }, { job, signal: given } = {}) => {
      const signal = limit(given);
      return line.run(key_print, signal, async () => {
        const state = await openState();
        const readWritten = (since: number) => listWrittenLinks(state.history, realm, since);
        const asking = { call, signal, clock, readWritten };
        return summarizePlan(asking, plan, readWrites(state, plan, job));
      });
    },
    findJob: async (id, owner) =>
      isStorable(id) ? onlyOwn(await (await openState()).jobs.find(id), owner) : undefined,
    listJobs: async ({ key_print }, page) => {
      const { jobs } = await openState();
      const found = await jobs.list(key_print, (page - 1) * jobsPerPage, jobsPerPage);
      const count = await jobs.count(key_print);
      const last = Math.max(1, Math.ceil(count / jobsPerPage));
      const next = page < last ? { next: page + 1 } : {};
      return { jobs: found, meta: { page, limit: jobsPerPage, count, last, ...next } };
    },
    listReceipts: async (job, page) => (await openState()).jobs.listReceipts(job, page),
    exportLinks: (wanted, owner, given) => {
      const signal = limit(given);
      return line.run(owner.key_print, signal, async () =>
        saveExport(options, wanted, owner, signal),
      );
    },
    readLinks: (filters, take, { key_print }, inTime) => {
      const signal = limit(inTime.signal);
      return line.run(key_print, signal, () => readWithin({ ...inTime, signal }, filters, take));
    },
    findExport: async (id, page, { key_print }) =>
      findExportPage((await openState()).kept, { owner: key_print, id, page }),
  };
}

/** The rows that write, some at a time; of a job, those that are not done. */
async function* readWrites(
  { plans, jobs }: State,
  plan: Plan,
  job: Job | undefined,
): AsyncGenerator<readonly PlanRow[]> {
  for (let from = 0; ;) {
    const rows =
      job === undefined
        ? await plans.listRows(plan.id, { actions: writeActions, from, limit: rowsTogether })
        : (await jobs.listReceipts(job, { from, limit: rowsTogether, only: "open" })).map(
            ({ planned }) => planned,
          );
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsTogether) return;
    from = last.position + 1;
  }
}

async function saveExport(
  options: RunnerOptions,
  { filters, search, format }: ExportWanted,
  { key_print, call, linkHost }: Owner,
  signal: AbortSignal,
): Promise<SavedExport> {
  const counting = startCount();
  const parts = selectParts({ call, signal, linkHost }, filters, search);
  // A key that may not read links is refused before anything is opened or saved.
  const counted = await readAhead(countEach(parts, counting));
  const type = format === "csv" ? "text/csv" : "application/json";
  const { kept } = await options.openState();
  const file = { type, texts: writePages(counted, format, pageBytes) };
  const saved = await saveExportPages(kept, file, key_print, options);
  return { ...saved, count: counting.links, lacks: listLacks(counting) };
}

async function readAhead<Item>(items: AsyncGenerator<Item>): Promise<AsyncGenerator<Item>> {
  const first = await items.next();
  return (async function* () {
    if (first.done !== true) yield first.value;
    yield* items;
  })();
}
