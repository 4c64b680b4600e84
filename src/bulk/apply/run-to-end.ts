import { CallFailure } from "../../client/call-failure.ts";
import type { Clock, Random } from "../../contract/clock.ts";
import { links } from "../../contract/links.ts";
import { explainOutage, Problem } from "../../contract/problem.ts";
import type { Receipt, Run } from "../../state/job-runs.ts";
import type { Job, Jobs } from "../../state/jobs.ts";
import type { Plan, PlanAction } from "../../state/plans.ts";
import { readOutage, type State } from "../../state/state.ts";
import { OtherProject } from "../bulk-errors.ts";
import type { Asking, Owner } from "../owner.ts";
import { findById } from "../select/find-links.ts";
import { runJob } from "./apply-rows.ts";
import { spacings_ms } from "./write-spacing.ts";

/** One run of a job, once this process has its lease: how it begins, and how it is let go of. */

export type RunnerOptions = {
  readonly openState: () => Promise<State>;
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** Between two writes of a job; left out, the budget's own pace. */
  readonly spacing_ms?: number;
  readonly report: (error: unknown, requestId?: string) => string;
};

/** What the runs of a process share. */
export type RunnerState = RunnerOptions & {
  /** Tells this process from others. */
  readonly name: string;
  readonly running: Map<string, Promise<unknown>>;
  /** By plan id: a lease keeps two processes apart, but not two calls in one process. */
  readonly starting: Map<string, Promise<Job>>;
  /** No more rows begin. */
  readonly stopped: AbortController;
  resuming: Promise<void>;
  /** Ends the calls that are on the way. */
  readonly life: AbortController;
  unfinished: ReadonlySet<string>;
  readonly ended: Partial<Record<Job["state"], number>>;
};

/** A run of a job whose lease this process has taken. */
export type Taken = {
  readonly state: State;
  readonly run: Run;
  readonly plan: Plan;
  readonly owner: Owner;
  readonly job: Job;
};

/** Keeps the lease until the run has ended, or nothing comes of it. */
export async function begin(
  runner: RunnerState,
  { state, run, plan, owner, job }: Taken,
): Promise<Job> {
  const { running, report, sleep, life } = runner;
  const stopKeeping = keepLease({ jobs: state.jobs, run, sleep });
  try {
    const asking = { call: owner.call, signal: life.signal };
    await requireSameProject(asking, state, plan, job);
  } catch (error) {
    await stopKeeping();
    await release(runner, state.jobs, run, { state: "interrupted", owner, error });
    throw error;
  }
  const runHeld = async () => {
    try {
      await runToEnd(runner, state, run, owner);
    } finally {
      await stopKeeping();
    }
  };
  const ended = runHeld()
    // No caller waits for this promise, so a failure is logged; the job's lease ends by itself.
    .catch((error: unknown) => report(error, owner.requestId))
    .then(() => running.delete(job.id));
  running.set(job.id, ended);
  return (await state.jobs.find(job.id)) ?? job;
}

async function runToEnd(
  runner: RunnerState,
  { jobs, counters }: State,
  run: Run,
  owner: Owner,
): Promise<void> {
  const { sleep, spacing_ms } = runner;
  const { key_print } = owner;
  const stopped = runner.stopped.signal;
  const waitForSpacing = async (action: PlanAction) => {
    const kind = action === "delete" ? "delete" : "write";
    const spacing = spacing_ms ?? spacings_ms[kind];
    if (spacing === 0) return;
    // At even distances over all jobs of the key, in whichever process they run.
    const line = { kind: `job_${kind}`, subject: key_print, window_ms: spacing };
    const wait_ms = await counters.queue(line).readWait_ms(1);
    if (wait_ms > 0) await sleep(wait_ms, stopped);
  };
  const { signal } = runner.life;
  try {
    const call = nameRequests(owner);
    const context = { call, signal, stopped, jobs, run, waitForSpacing, sleep };
    const end = await runJob(context);
    await release(runner, jobs, run, { state: end, owner });
  } catch (error) {
    await release(runner, jobs, run, { state: "interrupted", owner, error });
  }
  await noteEnd(runner, jobs, run);
  await loadUnfinished(runner);
}

/** Each row is known in logs as the request that applied the plan. */
function nameRequests({ call, requestId }: Owner): Owner["call"] {
  if (requestId === undefined) return call;
  return (endpoint, input, signal, options) =>
    call(endpoint, input, signal, { requestId, ...options });
}

type RunEnd = {
  readonly state: "done" | "interrupted";
  readonly owner: Pick<Owner, "requestId">;
  readonly error?: unknown;
};

async function release(
  runner: RunnerState,
  jobs: Jobs,
  run: Run,
  { state, owner, error }: RunEnd,
): Promise<void> {
  const message = error === undefined ? undefined : explain(runner, error, owner.requestId);
  await jobs.release(run, state, message);
}

/** It may have been cancelled meanwhile. */
async function noteEnd({ ended }: RunnerState, jobs: Jobs, { id }: Run): Promise<void> {
  const { state: found } = (await jobs.find(id)) ?? {};
  if (found === undefined) return;
  const state = found === "running" ? "interrupted" : found;
  ended[state] = (ended[state] ?? 0) + 1;
}

function explain({ report }: RunnerState, error: unknown, requestId: string | undefined): string {
  if (error instanceof Problem || error instanceof CallFailure) return error.message;
  if (error instanceof OtherProject) return error.message;
  const outage = readOutage(error);
  if (outage !== undefined) return explainOutage(outage).message;
  return `Something went wrong inside Waypost (reference ${report(error, requestId)}).`;
}

export async function loadUnfinished(runner: RunnerState): Promise<void> {
  runner.unfinished = new Set(await (await runner.openState()).jobs.listUnfinished());
}

/** How many of the plan's links are looked for at most. */
const mostProofs = 10;

/**
 * A key silently chooses its project, and may be another one by now: some link that the plan knows
 * must still be there. Links may go, but not all at once.
 */
async function requireSameProject(
  asking: Asking,
  { plans, jobs }: Pick<State, "plans" | "jobs">,
  plan: Plan,
  job: Job,
): Promise<void> {
  const first = await jobs.listReceipts(job, { limit: 100 });
  const open = await jobs.listReceipts(job, { limit: 100, only: "open" });
  const left = await plans.listRows(plan.id, { actions: ["unchanged"], limit: 100 });
  const sound = [...first, ...open].filter(shouldBeThere);
  const known = new Set([...sound, ...left].flatMap(({ link_id }) => link_id ?? []));
  const ids = spread([...known]);
  for (const id of ids) if ((await findById(asking, id)) !== undefined) return;
  if (ids.length > 0) {
    throw new OtherProject(
      "Waypost checked some of the plan's links, and none of them exists anymore.",
    );
  }
  // No link of the plan can be looked for: one request only checks that the key is accepted.
  await asking.call(links.index, { limit: 1 }, asking.signal);
}

/** A link that the job has deleted, or may have, proves nothing; neither does one yet to return. */
function shouldBeThere({ planned, status }: Receipt): boolean {
  if (planned.action === "create") return status === "done";
  return planned.action === "delete" ? status === null : true;
}

/** Evenly spread over the list: neighbours may have been deleted together by another caller. */
function spread(ids: readonly string[]): readonly string[] {
  const step = Math.max(1, Math.ceil(ids.length / mostProofs));
  return ids.filter((_, index) => index % step === 0);
}

type Keeping = {
  readonly jobs: Pick<Jobs, "renew">;
  readonly run: Run;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

/** Much less than a lease lasts. */
const renewEvery_ms = 3000;

/**
 * Renews the lease of a job that this process has, until the function is called that it answers:
 * what takes long meanwhile, whatever it is, must not look like a dead process.
 */
export function keepLease(keeping: Keeping): () => Promise<void> {
  const ended = new AbortController();
  const renewing = renewUntil(ended.signal, keeping);
  return () => {
    ended.abort();
    return renewing;
  };
}

async function renewUntil(ended: AbortSignal, { jobs, run, sleep }: Keeping): Promise<void> {
  while (!ended.aborted) {
    await sleep(renewEvery_ms, ended).catch(() => undefined);
    if (!ended.aborted) await jobs.renew(run).catch(() => false);
  }
}
