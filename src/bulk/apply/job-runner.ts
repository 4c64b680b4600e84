import { lease_ms, type Run } from "../../state/job-leases.ts";
import { isUnderWay, type Job, type Jobs, type JobWriter } from "../../state/jobs.ts";
import { countPlannedWrites, isFaulty, type Plan } from "../../state/plans.ts";
import { FaultyPlan, OtherProject, PlanExpired } from "../bulk-errors.ts";
import type { Owner } from "../owner.ts";
import { writeWhat } from "../plan/word-request.ts";
import { goOnWithLost, type Following } from "./go-on-with-lost.ts";
import {
  begin,
  loadUnfinished,
  release,
  type RunnerOptions,
  type RunnerState,
} from "./run-to-end.ts";

/** The jobs that run in this process: begun or gone on with, waited for, and stopped. */

export type Runner = {
  /** The job that applies the plan; where there is none, the plan must not be too old for one. */
  readonly findJobOf: (plan: Plan, owner: Owner) => Promise<Job | undefined>;
  /**
   * Applies a plan, or goes on with it; answers its job as soon as that runs. A cancelled job only
   * goes on where the caller hands in the job as it is now, and so knows that it was cancelled.
   * A job that begins is noted as a change of the writer.
   */
  readonly apply: (plan: Plan, owner: Owner, seen?: Job, writer?: JobWriter) => Promise<Job>;
  /** Resolves when the job no longer runs, or the time is over; tells meanwhile how far it is. */
  readonly wait: (job: Job, milliseconds: number, onProgress?: OnProgress) => Promise<Job>;
  readonly cancel: (job: Job) => Promise<Job>;
  /**
   * From now on jobs that no process runs any more go on here, without anybody asking: those of
   * processes that stopped or died, where this one may make their owners' calls.
   */
  readonly followLost: (following: Following) => void;
  /** Reads which keys have jobs that earlier processes left unfinished. */
  readonly loadUnfinished: () => Promise<void>;
  /** Whether the key has jobs that could be gone on with, as far as this process knows. */
  readonly hasUnfinished: (keyPrint: string) => boolean;
  readonly measure: () => JobMeasures;
  /**
   * Begins nothing more. A job is let go of as soon as its rows that are on the way have ended, and
   * another process goes on with it at once.
   */
  readonly handOver: () => void;
  /**
   * Begins nothing more, and ends the rows that are still on the way after that time. A job that
   * was not handed over goes on when somebody asks for it.
   */
  readonly close: (most_ms?: number) => Promise<void>;
};

/** Jobs of this process; those that wait do so until another process has let go of them. */
export type JobMeasures = {
  readonly running: number;
  readonly waiting: number;
  /** By the state in which a run left its job. */
  readonly ended: Readonly<Partial<Record<Job["state"], number>>>;
};

type OnProgress = (job: Job) => unknown;

/** How often a caller that waits is told how far a job is. */
const poll_ms = 1000;
/** For the rows that are on the way when a job is cancelled, and when the process has to end. */
const cancelWait_ms = 5000;
const closeWait_ms = 500;
const nameBytes = 16;

export function createRunner(options: RunnerOptions, life: AbortController): Runner {
  const runner: RunnerState = {
    ...options,
    name: Buffer.from(options.random.bytes(nameBytes)).toString("base64url"),
    running: new Map(),
    starting: new Map(),
    stopped: new AbortController(),
    isHandedOver: false,
    isFollowing: false,
    following: Promise.resolve(),
    retries: new Map(),
    life,
    unfinished: new Set(),
    ended: { done: 0, interrupted: 0, cancelled: 0 },
  };
  const { running, starting, stopped } = runner;
  return {
    findJobOf: (plan, owner) => findJobOf(runner, plan, owner),
    apply: (plan, owner, seen, writer) =>
      startOnce(runner, plan, () => apply(runner, plan, owner, seen, writer)),
    wait: (job, milliseconds, onProgress) => wait(runner, job, milliseconds, onProgress),
    cancel: (job) => cancel(runner, job),
    followLost: (following) => {
      const { openState, sleep, report } = options;
      const goOn = (plan: Plan, owner: Owner, job: Job) =>
        startOnce(runner, plan, () => goOnWith(runner, plan, owner, job));
      const looking = { ...following, openState, sleep, report, goOn, stopped: stopped.signal };
      runner.isFollowing = true;
      runner.following = goOnWithLost(looking);
    },
    loadUnfinished: () => loadUnfinished(runner),
    hasUnfinished: (keyPrint) => runner.unfinished.has(keyPrint),
    measure: () => ({ running: running.size, waiting: starting.size, ended: { ...runner.ended } }),
    handOver: () => {
      runner.isHandedOver = true;
      stopped.abort();
    },
    close: async (most_ms = closeWait_ms) => {
      stopped.abort();
      await Promise.all([...running.keys()].map((id) => waitForRun(runner, id, most_ms)));
      life.abort();
      await runner.following;
      await Promise.all(running.values());
    },
  };
}

/** Two calls that start the same plan get the same answer. */
function startOnce({ starting }: RunnerState, plan: Plan, start: () => Promise<Job>): Promise<Job> {
  const known = starting.get(plan.id);
  if (known !== undefined) return known;
  const started = start().finally(() => starting.delete(plan.id));
  starting.set(plan.id, started);
  return started;
}

async function findJobOf(
  { openState, clock }: RunnerState,
  plan: Plan,
  { origin }: Owner,
): Promise<Job | undefined> {
  if (plan.origin !== origin) throw new OtherProject("The plan was made for another address.");
  const { jobs } = await openState();
  const job = await jobs.findOfPlan(plan.id);
  if (job !== undefined) return job;
  if (plan.expires_at <= clock.now()) {
    throw new PlanExpired("The plan is too old: what it was made of may have changed.");
  }
  await requireAsPlanned(jobs, plan);
  return undefined;
}

/** What a job did after its undo was planned would stay as it is, and nobody be told. */
async function requireAsPlanned(jobs: Jobs, { undoes, request }: Plan): Promise<void> {
  const planned = request?.undone;
  // An earlier version did not note how far the job was.
  if (undoes === null || planned === undefined) return;
  const undone = await jobs.find(undoes);
  if (undone === undefined) return;
  const { done, left } = undone.counts;
  if (!isUnderWay(undone) && done === planned.done && left === planned.left) return;
  throw new PlanExpired("The job that it undoes has gone on since, and rows of it may be missing.");
}

async function apply(
  runner: RunnerState,
  plan: Plan,
  owner: Owner,
  seen: Job | undefined,
  writer: JobWriter | undefined,
): Promise<Job> {
  const { openState, running, name } = runner;
  if (isFaulty(plan)) throw new FaultyPlan("The plan has rows that cannot be done.");
  const state = await openState();
  const { jobs } = state;
  const job = (await findJobOf(runner, plan, owner)) ?? (await openJob(jobs, plan, owner, writer));
  if (job.state === "done") return job;
  if (job.state === "cancelled") {
    if (seen?.state !== "cancelled" || seen.updated_at !== job.updated_at) return job;
    // Its last rows may still be on the way.
    await running.get(job.id);
    await jobs.revive(job.id);
  }
  // That it was interrupted is read a moment before its run has ended here.
  if (job.state === "interrupted") await running.get(job.id);
  if (running.has(job.id)) return job;
  await cancelUndone(jobs, plan);
  const run = { id: job.id, runner: name };
  if (!(await takeLease(runner, jobs, run))) return (await jobs.find(job.id)) ?? job;
  runner.retries.delete(job.id);
  return begin(runner, { state, run, plan, owner, job }, async (error) => {
    const left = await release(runner, jobs, run, { state: "interrupted", owner, error });
    // Where it goes on by itself, nobody is to believe that nothing comes of it.
    if (left !== "running") throw error;
    return (await jobs.find(job.id)) ?? job;
  });
}

/** A job that is being undone must not be gone on with as well. */
async function cancelUndone(jobs: Jobs, { undoes }: Plan): Promise<void> {
  if (undoes !== null) await jobs.cancel(undoes);
}

/** Nobody has asked, so that what is against it is said by the job alone. */
async function goOnWith(runner: RunnerState, plan: Plan, owner: Owner, job: Job): Promise<Job> {
  const state = await runner.openState();
  const run = { id: job.id, runner: runner.name };
  if (runner.running.has(job.id) || !(await state.jobs.take(run))) return job;
  return begin(runner, { state, run, plan, owner, job }, async (error) => {
    await release(runner, state.jobs, run, { state: "interrupted", owner, error });
    return job;
  });
}

async function openJob(
  jobs: Jobs,
  plan: Plan,
  { key_id }: Owner,
  writer: JobWriter | undefined,
): Promise<Job> {
  await cancelUndone(jobs, plan);
  // It may have gone on between the last look at it and its end.
  await requireAsPlanned(jobs, plan);
  // The history tells of it as of what it sets out to do: its end is noted there only in part.
  const counts = { done: countPlannedWrites(plan.counts) };
  const name = writeWhat({ ...plan, planned: plan.counts, counts });
  return jobs.open(plan, writer && { ...writer, name }, key_id);
}

/** A process that was killed holds its job until the lease is over; one that lives keeps it. */
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
  // Another process may run the job; that it ended is only seen in the state file.
  const find = async () => (await (await openState()).jobs.find(job.id)) ?? job;
  // Of one that ended since it was read, nobody here is to wait a second for the next look.
  let now = job.state !== "running" || running.has(job.id) ? job : await find();
  for (let left_ms = milliseconds; now.state === "running"; left_ms -= poll_ms) {
    await waitForRun(runner, job.id, Math.min(poll_ms, left_ms));
    now = await find();
    if (left_ms <= poll_ms || stopped.signal.aborted) return now;
    if (now.state === "running") onProgress(now);
  }
  return now;
}

/** Until the job's run in this process is over, or the time. */
async function waitForRun(
  { sleep, running }: RunnerState,
  id: string,
  milliseconds: number,
): Promise<void> {
  const late = new AbortController();
  const isOver = sleep(milliseconds, late.signal).catch(() => undefined);
  await Promise.race([running.get(id) ?? isOver, isOver]);
  late.abort();
}

async function cancel(runner: RunnerState, job: Job): Promise<Job> {
  const { jobs } = await runner.openState();
  await jobs.cancel(job.id);
  // The rows on the way cannot be stopped, and the answer should tell how they ended.
  if (runner.running.has(job.id)) await waitForRun(runner, job.id, cancelWait_ms);
  await loadUnfinished(runner);
  return (await jobs.find(job.id)) ?? job;
}
