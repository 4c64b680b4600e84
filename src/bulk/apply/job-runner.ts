import { CallFailure } from "../../client/outcome.ts";
import type { Clock, Random } from "../../contract/clock.ts";
import { explainOutage, Problem, toSentence } from "../../contract/problem.ts";
import { lease_ms, type Run } from "../../state/job-runs.ts";
import type { Job, Jobs, JobWriter } from "../../state/jobs.ts";
import {
  countPlannedWrites,
  isFaulty,
  writeActions,
  type Plan,
  type PlanAction,
} from "../../state/plans.ts";
import { readOutage, type State } from "../../state/state.ts";
import { FaultyPlan, PlanExpired } from "../bulk-errors.ts";
import type { Owner } from "../owner.ts";
import { findTarget, runJob } from "./apply-rows.ts";

/** Starts, resumes and stops jobs in this process, and waits for their results. */

export type RunnerOptions = {
  readonly openState: () => Promise<State>;
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** The time between two writes of a job. The default depends on the rate limit. */
  readonly spacing_ms?: number;
  readonly report: (error: unknown, requestId?: string) => string;
};

type RunnerState = ReturnType<typeof createState>;

function createState(options: RunnerOptions, life: AbortController) {
  return {
    ...options,
    name: Buffer.from(options.random.bytes(nameBytes)).toString("base64url"),
    running: new Map<string, Promise<unknown>>(),
    /**
     * Jobs that are being started, by plan ID. The map keeps two calls in this process from running
     * the same job. A lease does the same for two processes.
     */
    starting: new Map<string, Promise<Job>>(),
    /** Aborted when no more rows may start. */
    stopped: new AbortController(),
    /** Aborted to cancel the requests in progress. */
    life,
    unfinished: new Set<string>(),
    ended: { done: 0, interrupted: 0, cancelled: 0 },
  };
}

/**
 * Returns the key to resume a job with. Returns undefined if this process does not have the key, or
 * if the key may not apply the remaining rows.
 */
export type FindOwner = (plan: Plan, job: Job, keyId: string) => Promise<Owner | undefined>;

type OnProgress = (job: Job) => unknown;

const poll_ms = 1000;
/** How long to wait for the rows in progress after a job is cancelled, and at a shutdown. */
const cancelWait_ms = 5000;
const closeWait_ms = 500;
const nameBytes = 16;

/** The time between two rows. It keeps writes just below the rate limit of 600 per minute. */
const spacings_ms = {
  write: 102,
  /** An arbitrary pause, because the API has no rate limit for deletions. */
  delete: 200,
} as const;

export function estimateSeconds(counts: Plan["counts"], rows = countPlannedWrites(counts)): number {
  const writes = counts.create + counts.update;
  const all_ms = writes * spacings_ms.write + counts.delete * spacings_ms.delete;
  return Math.ceil((all_ms * rows) / Math.max(countPlannedWrites(counts), 1) / 1000);
}

export function createRunner(options: RunnerOptions, life: AbortController) {
  const runner = createState(options, life);
  const { running, starting, stopped } = runner;
  let resuming = Promise.resolve();
  return {
    /**
     * Returns the plan's job, or undefined if the plan was not applied yet. Throws if the plan can
     * no longer be applied.
     */
    findJobOf: (plan: Plan, owner: Owner) => findJobOf(runner, plan, owner),
    /**
     * Applies a plan or resumes its job. Returns once the job runs. To resume a cancelled job, pass
     * the job's current state as `seen`: it proves that the caller knows that the job was
     * cancelled. If `writer` is set, a new job is added to the history.
     */
    apply: (plan: Plan, owner: Owner, seen?: Job, writer?: JobWriter) =>
      startOnce(runner, { plan, owner, seen, writer }),
    /** Resolves when the job ends or the timeout expires. Reports progress until then. */
    wait: (job: Job, milliseconds: number, onProgress?: OnProgress) =>
      wait(runner, job, milliseconds, onProgress),
    cancel: (job: Job) => cancel(runner, job),
    /** Resumes jobs that a shutdown or a crash has recently interrupted. Called at start-up. */
    resumeRecent: (findOwner: FindOwner) => {
      resuming = resumeRecent(runner, findOwner);
    },
    loadUnfinished: () => loadUnfinished(runner),
    /** Whether the key had running or interrupted jobs when `loadUnfinished` last ran. */
    hasUnfinished: (keyPrint: string) => runner.unfinished.has(keyPrint),
    /**
     * Counts this process's jobs. `waiting` includes jobs that are starting, and jobs that wait
     * for another process's lease to expire.
     */
    measure: () => ({ running: running.size, waiting: starting.size, ended: { ...runner.ended } }),
    /** Interrupts all jobs as soon as their rows in progress have finished. */
    stop: () => stopped.abort(),
    /** Interrupts all jobs and waits for rows in progress. Cancels the rows after `most_ms`. */
    close: async (most_ms = closeWait_ms) => {
      stopped.abort();
      await Promise.all([...running.keys()].map((id) => waitForRun(runner, id, most_ms)));
      life.abort();
      await resuming;
      await Promise.all(running.values());
    },
  };
}

type Start = {
  readonly plan: Plan;
  readonly owner: Owner;
  readonly seen?: Job | undefined;
  readonly writer?: JobWriter | undefined;
};

/** If two calls start the same plan, both get the same promise. */
function startOnce(runner: RunnerState, start: Start): Promise<Job> {
  const { starting } = runner;
  const { id } = start.plan;
  const started = starting.get(id) ?? apply(runner, start).finally(() => starting.delete(id));
  starting.set(id, started);
  return started;
}

async function findJobOf({ openState, clock }: RunnerState, plan: Plan, { origin }: Owner) {
  if (plan.origin !== origin) throw new PlanExpired("The plan was made for another server.");
  const { jobs } = await openState();
  const job = await jobs.findOfPlan(plan.id);
  if (job !== undefined) return job;
  if (plan.expires_at <= clock.now()) {
    throw new PlanExpired("The plan has expired, and its links may have changed since.");
  }
  await requireUnchangedSince(jobs, plan);
  return undefined;
}

/**
 * Throws if the job to undo has continued since the undo was planned, because the undo would then
 * miss rows.
 */
async function requireUnchangedSince(jobs: Jobs, { undoes, request }: Plan): Promise<void> {
  const planned = request.undone;
  const undone = undoes === null ? undefined : await jobs.find(undoes);
  if (planned === undefined || undone === undefined) return;
  const { done, left } = undone.counts;
  if (!undone.isHeld && done === planned.done && left === planned.left) return;
  throw new PlanExpired(
    "The job that this plan undoes has continued, so the plan may be missing rows.",
  );
}

async function apply(runner: RunnerState, start: Start): Promise<Job> {
  const { openState, running, name } = runner;
  const { plan, owner, seen } = start;
  if (isFaulty(plan)) throw new FaultyPlan("The plan has invalid rows.");
  const state = await openState();
  const { jobs } = state;
  const job = (await findJobOf(runner, plan, owner)) ?? (await openJob(jobs, start));
  if (job.state === "done") return job;
  if (job.state === "cancelled") {
    if (seen?.state !== "cancelled" || seen.updated_at !== job.updated_at) return job;
    // The last rows of the cancelled job may still be in progress.
    await running.get(job.id);
    await jobs.revive(job.id);
  }
  // The database shows a job as interrupted slightly before its run in this process ends, so wait
  // for that run.
  if (job.state === "interrupted") await running.get(job.id);
  if (running.has(job.id)) return job;
  const run = { id: job.id, runner: name };
  if (await takeLease(runner, jobs, run)) await begin(runner, { state, run, plan, owner });
  return (await jobs.find(job.id)) ?? job;
}

async function resumeRecent(runner: RunnerState, findOwner: FindOwner): Promise<void> {
  const { openState, report, stopped } = runner;
  const note = (error: unknown): undefined => {
    if (!stopped.signal.aborted) report(error);
  };
  const started: Promise<unknown>[] = [];
  try {
    const { jobs, plans } = await openState();
    for (const { id, key_id } of await jobs.listResumable()) {
      const job = await jobs.find(id);
      const plan = job && (await plans.find(job.plan_id));
      if (job === undefined || plan === undefined || stopped.signal.aborted) continue;
      const owner = await findOwner(plan, job, key_id).catch(note);
      if (owner === undefined) continue;
      // If the job cannot be resumed, the reason is stored in the job.
      started.push(startOnce(runner, { plan, owner }).catch(() => undefined));
    }
  } catch (error) {
    note(error);
  }
  await Promise.all(started);
}

async function openJob(jobs: Jobs, { plan, owner, writer }: Start): Promise<Job> {
  // Cancel the job that this plan undoes, so that it cannot be resumed.
  if (plan.undoes !== null) await jobs.cancel(plan.undoes);
  // The job to undo may have applied more rows before it was cancelled.
  await requireUnchangedSince(jobs, plan);
  // The history shows the planned changes, because it is not updated with the job's result.
  const counts = { done: countPlannedWrites(plan.counts) };
  const name = writeWhat({ ...plan, planned: plan.counts, counts });
  return jobs.open(plan, writer && { ...writer, name }, owner.key_id);
}

/**
 * Waits for the lease. If the process that holds the lease has crashed, the lease expires. A
 * running process keeps renewing its lease.
 */
async function takeLease({ sleep, stopped }: RunnerState, jobs: Jobs, run: Run): Promise<boolean> {
  for (let left_ms = lease_ms + poll_ms; ; left_ms -= poll_ms) {
    if (await jobs.take(run)) return true;
    if (left_ms <= 0 || stopped.signal.aborted) return false;
    await sleep(poll_ms, stopped.signal).catch(() => undefined);
  }
}

async function wait(
  runner: RunnerState,
  job: Job,
  milliseconds: number,
  onProgress: OnProgress = () => undefined,
): Promise<Job> {
  const { openState, running, stopped } = runner;
  // Read the state from the database, because another process may run the job.
  const find = async () => (await (await openState()).jobs.find(job.id)) ?? job;
  // The job may have just ended. Reading its state now avoids waiting for another second.
  let now = job.state !== "running" || running.has(job.id) ? job : await find();
  for (let left_ms = milliseconds; now.state === "running"; left_ms -= poll_ms) {
    await waitForRun(runner, job.id, Math.min(poll_ms, left_ms));
    now = await find();
    if (left_ms <= poll_ms || stopped.signal.aborted) return now;
    if (now.state === "running") onProgress(now);
  }
  return now;
}

/** Waits until the job stops running in this process, or the timeout expires. */
async function waitForRun({ sleep, running }: RunnerState, id: string, most_ms: number) {
  const late = new AbortController();
  const isOver = sleep(most_ms, late.signal).catch(() => undefined);
  await Promise.race([running.get(id) ?? isOver, isOver]);
  late.abort();
}

async function cancel(runner: RunnerState, job: Job): Promise<Job> {
  const { jobs } = await runner.openState();
  await jobs.cancel(job.id);
  // Wait for the rows in progress, so that the response includes their results.
  if (runner.running.has(job.id)) await waitForRun(runner, job.id, cancelWait_ms);
  await loadUnfinished(runner);
  return (await jobs.find(job.id)) ?? job;
}

type HeldJob = Pick<Start, "plan" | "owner"> & { readonly state: State; readonly run: Run };

/** Runs a job for which this process holds the lease. Renews the lease until the job stops. */
async function begin(runner: RunnerState, held: HeldJob): Promise<void> {
  const { running, report, sleep, life, stopped } = runner;
  const { state, run, owner } = held;
  const { jobs } = state;
  const stopKeeping = keepLease({ jobs, run, sleep });
  const release = async (end: "done" | "interrupted", message?: string) => {
    try {
      await jobs.release(run, end, message);
    } finally {
      await stopKeeping();
    }
  };
  const interrupt = (error: unknown) => release("interrupted", explain(runner, error, owner));
  const asking = { call: nameRequests(owner), signal: life.signal };
  try {
    // Look up one link first, to check that the server can be reached and accepts the key.
    const [first] = await jobs.listReceipts(run, { only: "open", limit: 1 });
    if (first !== undefined) await findTarget(asking, first);
  } catch (error) {
    await interrupt(error);
    throw error;
  }
  const waitForSpacing = createSpacing(runner, held);
  const ended = runJob({ ...asking, stopped: stopped.signal, jobs, run, waitForSpacing, sleep })
    .then(release, interrupt)
    .then(() => noteEnd(runner, jobs, run))
    // No caller awaits this promise, so errors are logged. The lease then expires.
    .catch((error: unknown) => report(error, owner.requestId))
    .then(() => running.delete(run.id));
  running.set(run.id, ended);
}

/** Spaces the writes of a key's jobs evenly, even if they run in several processes. */
function createSpacing({ spacing_ms, sleep, stopped }: RunnerState, { state, owner }: HeldJob) {
  return async (action: PlanAction): Promise<void> => {
    const kind = action === "delete" ? "delete" : "write";
    const spacing = spacing_ms ?? spacings_ms[kind];
    if (spacing === 0) return;
    const line = { kind: `job_${kind}`, subject: owner.key_print, window_ms: spacing };
    const wait_ms = await state.counters.queue(line).readWait_ms(1);
    if (wait_ms > 0) await sleep(wait_ms, stopped.signal);
  };
}

/** Logs each row with the ID of the request that applied the plan. */
function nameRequests({ call, requestId }: Owner): Owner["call"] {
  if (requestId === undefined) return call;
  return (endpoint, input, signal, options) =>
    call(endpoint, input, signal, { requestId, ...options });
}

function explain({ report }: RunnerState, error: unknown, { requestId }: Owner): string {
  if (error instanceof Problem || error instanceof CallFailure) return error.message;
  const outage = readOutage(error);
  if (outage !== undefined) return explainOutage(outage).message;
  return `Something went wrong inside Waypost (reference ${report(error, requestId)}).`;
}

async function noteEnd(runner: RunnerState, jobs: Jobs, { id }: Run): Promise<void> {
  const { ended } = runner;
  const job = await jobs.find(id);
  if (job !== undefined) {
    const state = job.state === "running" ? "interrupted" : job.state;
    ended[state] += 1;
  }
  await loadUnfinished(runner);
}

async function loadUnfinished(runner: RunnerState): Promise<void> {
  runner.unfinished = new Set(await (await runner.openState()).jobs.listUnfinished());
}

type LeaseKeeping = Pick<RunnerOptions, "sleep"> & {
  readonly jobs: Pick<Jobs, "renew">;
  readonly run: Run;
};

/** Must be much shorter than a lease. */
const renewEvery_ms = 3000;

/**
 * Renews the lease of a running job until the returned function is called. Without renewal, a slow
 * row would look like a crashed process.
 */
export function keepLease({ jobs, run, sleep }: LeaseKeeping): () => Promise<void> {
  const ended = new AbortController();
  const renewUntilEnded = async () => {
    while (!ended.signal.aborted) {
      await sleep(renewEvery_ms, ended.signal).catch(() => undefined);
      if (!ended.signal.aborted) await jobs.renew(run).catch(() => false);
    }
  };
  const renewing = renewUntilEnded();
  return () => {
    ended.abort();
    return renewing;
  };
}

const verbs = { create: "created", update: "changed", delete: "deleted" } as const;

type JobFacts = Pick<Job, "undoes" | "request" | "planned"> & {
  readonly counts: Pick<Job["counts"], "done">;
};

/**
 * Describes what a job has done, such as "changed 17 links (url)" or "created or changed 3 of 20
 * links".
 */
export function writeWhat({ undoes, request, planned, counts }: JobFacts): string {
  const total = countPlannedWrites(planned);
  const acts = writeActions.filter((action) => planned[action] > 0);
  const last = acts.at(-1);
  if (last === undefined) return "changed nothing";
  const isWhole = counts.done === total;
  const part = `${counts.done} of ${total} ${total === 1 ? "link" : "links"}`;
  if (undoes !== null) return isWhole ? `undid ${undoes}` : `undid ${undoes} on ${part}`;
  const about = request.about === undefined ? "" : ` (${request.about})`;
  // For an unfinished job, the number of rows per action is unknown.
  if (!isWhole) return `${acts.map((action) => verbs[action]).join(" or ")} ${part}${about}`;
  const each = acts.map((action) => `${verbs[action]} ${planned[action]}`);
  return `${toSentence(each)} ${planned[last] === 1 ? "link" : "links"}${about}`;
}
