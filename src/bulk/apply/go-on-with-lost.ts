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

/** At once; more of them are looked at when some of these have ended. */
const mostBegun = 50;

/** Until the process stops. */
export async function goOnWithLost(looking: Looking): Promise<void> {
  const { stopped, sleep, report, tell = report, mayBeThere } = looking;
  const looks: Looks = { passedOver: new Set(), begun: new Map(), note };
  let isFailing = false;
  let faults = 0;

  function note(error: unknown): void {
    // A store that is away for an hour is told of once.
    if (!isFailing && !stopped.aborted) tell(error);
    isFailing = true;
    faults += 1;
  }

  while (!stopped.aborted) {
    const before = faults;
    if (mayBeThere()) await look(looking, looks).catch(note);
    await sleep(lookEvery_ms, stopped).catch(() => undefined);
    if (faults === before && looks.begun.size === 0) isFailing = false;
  }
  await Promise.all(looks.begun.values());
}

type Looks = {
  readonly passedOver: Set<string>;
  /** Those that have not ended: a deployment may be slow, or not answer at all. */
  readonly begun: Map<string, Promise<void>>;
  readonly note: (error: unknown) => void;
};

/** Begins to go on with what it finds, and waits for none of it. */
async function look(looking: Looking, { passedOver, begun, note }: Looks): Promise<void> {
  const state = await looking.openState();
  for (const lost of await state.jobs.listLost()) {
    const { id } = lost;
    if (looking.stopped.aborted || begun.size >= mostBegun) return;
    if (passedOver.has(id) || begun.has(id)) continue;
    const looked = lookAt(looking, state, lost, passedOver).catch(note);
    begun.set(
      id,
      looked.finally(() => begun.delete(id)),
    );
  }
}

async function lookAt(
  { findOwner, goOn, stopped }: Looking,
  { jobs, plans }: Lasting,
  lost: LostJob,
  passedOver: Set<string>,
): Promise<void> {
  const job = await jobs.find(lost.id);
  const plan = job && (await plans.find(job.plan_id));
  if (job === undefined || plan === undefined) return;
  const owner = await findOwner(plan, job, lost);
  if (stopped.aborted) return;
  if (owner !== undefined) await goOn(plan, owner, job);
  else {
    if (passedOver.size >= mostPassedOver) passedOver.clear();
    passedOver.add(lost.id);
  }
}
