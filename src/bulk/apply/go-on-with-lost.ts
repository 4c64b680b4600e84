import type { Job, Jobs, LostJob } from "../../state/jobs.ts";
import type { Plan, Plans } from "../../state/plans.ts";
import type { Owner } from "../owner.ts";

/** Jobs that no process runs any more go on in one that lives, without anybody asking. */

/**
 * Whose calls the job's rows are; undefined where this process cannot make them, or may not do what
 * is left of the plan. It is asked once for each job.
 */
export type FindOwner = (plan: Plan, job: Job, lost: LostJob) => Promise<Owner | undefined>;

/** What a process must know to go on with other processes' jobs. */
export type Following = {
  readonly findOwner: FindOwner;
  /** Whether there may be jobs at all: to look for them makes no file. */
  readonly mayBeThere: () => boolean;
  /** Is told once of what it fails by, until it succeeds; left out, that is reported. */
  readonly tell?: (error: unknown) => unknown;
};

type Looking = Following & {
  readonly openState: () => Promise<Lasting>;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly report: (error: unknown) => unknown;
  /** Of several processes that go on with it at once, one does. */
  readonly goOn: (plan: Plan, owner: Owner, job: Job) => Promise<unknown>;
  readonly stopped: AbortSignal;
};

type Lasting = {
  readonly jobs: Pick<Jobs, "listLost" | "find">;
  readonly plans: Pick<Plans, "find">;
};

/** A lease is over after ten seconds, and so a job is had within twelve. */
const lookEvery_ms = 2000;
/** Of so many that are not for this process it is remembered. */
const mostPassedOver = 1000;

/** Until the process stops. */
export async function goOnWithLost(looking: Looking): Promise<void> {
  const { stopped, sleep, report, tell = report, mayBeThere } = looking;
  const passedOver = new Set<string>();
  let isFailing = false;
  while (!stopped.aborted) {
    const faults = mayBeThere() ? await look(looking, passedOver) : [];
    // A store that is away for an hour is told of once.
    if (faults.length > 0 && !isFailing && !stopped.aborted) tell(faults[0]);
    isFailing = faults.length > 0;
    await sleep(lookEvery_ms, stopped).catch(() => undefined);
  }
}

/** Goes on with what it finds, and answers what went wrong with that. */
async function look(looking: Looking, passedOver: Set<string>): Promise<readonly unknown[]> {
  const faults: unknown[] = [];
  const note = (error: unknown) => void faults.push(error);
  const state = await looking.openState().catch(note);
  const lost = (await state?.jobs.listLost().catch(note)) ?? [];
  const left = lost.filter(({ id }) => !passedOver.has(id));
  if (state === undefined || looking.stopped.aborted) return faults;
  // Beside each other: the deployment of one may take long to answer, or not answer at all.
  await Promise.all(left.map((one) => lookAt(looking, state, one, passedOver).catch(note)));
  return faults;
}

async function lookAt(
  { findOwner, goOn }: Looking,
  { jobs, plans }: Lasting,
  lost: LostJob,
  passedOver: Set<string>,
): Promise<void> {
  const job = await jobs.find(lost.id);
  const plan = job && (await plans.find(job.plan_id));
  if (job === undefined || plan === undefined) return;
  const owner = await findOwner(plan, job, lost);
  if (owner !== undefined) await goOn(plan, owner, job);
  else {
    if (passedOver.size >= mostPassedOver) passedOver.clear();
    passedOver.add(lost.id);
  }
}
