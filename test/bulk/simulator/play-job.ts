import { CallFailure } from "../../../src/client/outcome.ts";
import { Problem } from "../../../src/contract/problem.ts";
import type { Job } from "../../../src/state/jobs.ts";
import { wasKilled, type Instance } from "./instance.ts";
import { editAsOtherUser, scheduleJump } from "./others.ts";
import type { SimPlan } from "./planned.ts";
import type { Model } from "./stage.ts";

/** Applies a plan with one process after another, through all faults, until it is done. */

/** Probabilities of faults, from a quiet network to one that hardly works. */
const weathers = [0, 0.02, 0.05, 0.1, 0.2, 0.4] as const;
const worstWeather = 0.5;
const mostRounds = 20;
/** From this round on nothing fails, and the job must end. */
const calmFrom = { low: 2, high: 9 } as const;
/** Longer than a job with this few rows can take. */
const patience_ms = 30 * 60_000;

export async function playJob(stage: Model, planned: SimPlan, isBusy: boolean): Promise<Job> {
  const { chance, time, door, figures } = stage;
  const calmAt = chance.between(calmFrom.low, calmFrom.high);
  const hasOthers = chance.isLikely(0.5);
  const hasJumps = !isBusy && chance.isLikely(0.1);
  let instance = stage.start();
  for (let round = 1; round <= mostRounds; round += 1) {
    const isCalm = round >= calmAt;
    door.setWeather(isCalm ? 0 : chance.pick(weathers));
    stage.note(`round ${round}${isCalm ? ", all is well" : ""}`);
    if (instance.isDead() || chance.isLikely(0.3)) instance = stage.start();
    instance.killAfter(Infinity);
    instance.killAfterWrites(Infinity);
    if (hasOthers && !isCalm) scheduleOthers(stage, planned);
    if (hasJumps && !isCalm) scheduleJump(stage, drawMoment(stage, planned));
    const play = isCalm ? playPlain : chance.pick(plays);
    await time.drive(play(stage, planned, instance));
    figures.add("rounds");
    await checkRound(stage, planned);
    if ((await findJob(stage, planned))?.state === "done") break;
    const pause_ms = isCalm ? 60_000 : chance.pick([0, 1000, 15_000, 60_000]);
    await time.drive(time.sleep(pause_ms));
    stage.setCancelled(false);
  }
  door.setWeather(0);
  const job = await findJob(stage, planned);
  if (job === undefined) throw new Error("the job was never started");
  return job;
}

type Play = (stage: Model, planned: SimPlan, instance: Instance) => Promise<unknown>;

const playPlain: Play = (stage, planned, instance) => run(stage, planned, instance);

const playCrash: Play = (stage, planned, instance) => {
  const { chance, figures } = stage;
  // At any moment, or at the worst one: a request was sent and its result will be lost.
  if (chance.isLikely(0.5)) instance.killAfter(drawSteps(stage, planned));
  else instance.killAfterWrites(chance.between(1, 1 + planned.rows.length));
  figures.add("crashes planned");
  return run(stage, planned, instance);
};

const playClose: Play = async (stage, planned, instance) => {
  const running = run(stage, planned, instance);
  await stage.time.sleep(drawMoment(stage, planned));
  stage.note(`${instance.name} closes`);
  stage.figures.add("closes");
  await Promise.race([instance.bulk.close(), instance.killed]);
  const outcome = await running;
  instance.kill();
  return outcome;
};

const playCancel: Play = async (stage, planned) => {
  // A new process, as a sleeping one would ask for the job after it was cancelled.
  const instance = stage.start();
  const running = run(stage, planned, instance);
  await stage.time.sleep(drawMoment(stage, planned));
  const by = stage.chance.isLikely(0.5) ? instance : stage.start();
  const job = await readJob(stage, planned);
  if (job !== undefined && job.state !== "done") {
    stage.note(`${by.name} cancels`);
    stage.figures.add("cancels");
    const cancelled = await by.bulk.cancel(job);
    stage.setCancelled(cancelled.state !== "done");
  }
  return running;
};

const playSuspension: Play = async (stage, planned, instance) => {
  const { chance, time, figures } = stage;
  instance.suspendAfter(drawSteps(stage, planned), chance.between(2000, 60_000));
  figures.add("suspensions");
  const running = run(stage, planned, instance);
  await time.sleep(drawMoment(stage, planned) + chance.between(0, 12_000));
  const outcome = await run(stage, planned, stage.start());
  await running;
  return outcome;
};

const playRivals: Play = async (stage, planned, instance) => {
  stage.figures.add("rivals");
  const rival = stage.start();
  if (stage.chance.isLikely(0.5)) instance.killAfter(drawSteps(stage, planned));
  const outcomes = await Promise.all([
    run(stage, planned, instance),
    stage.time.sleep(drawMoment(stage, planned)).then(() => run(stage, planned, rival)),
  ]);
  return outcomes[1];
};

/** Asks one process twice, while its first attempt still waits. */
const playTwice: Play = async (stage, planned, instance) => {
  stage.figures.add("asked twice");
  stage.door.setWeather(worstWeather);
  stage.door.stallNext();
  const outcomes = await Promise.all([
    run(stage, planned, instance),
    stage.time.sleep(drawMoment(stage, planned)).then(() => run(stage, planned, instance)),
  ]);
  return outcomes[1];
};

const plays: readonly [Play, ...Play[]] = [
  playPlain,
  playPlain,
  playCrash,
  playCrash,
  playCrash,
  playClose,
  playCancel,
  playSuspension,
  playRivals,
  playTwice,
];

async function run(stage: Model, { plan }: SimPlan, instance: Instance): Promise<unknown> {
  const { bulk, owner, killed } = instance;
  const applied = async () => {
    // Resuming a cancelled job needs the knowledge that it was cancelled.
    const seen = await bulk.findJobOf(plan, owner);
    return bulk.wait(await bulk.apply(plan, owner, seen), patience_ms);
  };
  try {
    const outcome = await Promise.race([applied(), killed]);
    if (outcome === wasKilled) stage.figures.add("crashes");
    else stage.note(`${instance.name} leaves the job ${describeJob(outcome)}`);
    return outcome;
  } catch (error) {
    stage.note(`${instance.name} cannot apply it: ${String(error)}`);
    const isKnown = [Problem, CallFailure].some((kind) => error instanceof kind);
    if (!isKnown && !isBrokenSleep(error)) stage.complain(`apply fails with ${String(error)}`);
    return error;
  }
}

/** Closing while waiting for another process's lease is not an error. */
function isBrokenSleep(error: unknown): boolean {
  return error instanceof Error && error.message === "the sleep was aborted";
}

function describeJob({ state, counts, message }: Job): string {
  return `${state} ${JSON.stringify(counts)}${message === null ? "" : `: ${message}`}`;
}

/** Returns a number of steps. A row has about twenty. A late kill lets the job continue. */
function drawSteps({ chance }: Model, { rows }: SimPlan): number {
  return chance.between(1, 20 + 20 * rows.length);
}

function drawMoment({ chance }: Model, { rows }: SimPlan): number {
  return chance.between(0, 500 + 200 * rows.length);
}

function scheduleOthers(stage: Model, planned: SimPlan): void {
  const { chance, time, complain } = stage;
  for (let acts = chance.between(0, 2); acts > 0; acts -= 1) {
    const act = () => {
      editAsOtherUser(stage, planned).catch((error: unknown) =>
        complain(`another user: ${String(error)}`),
      );
    };
    time.setTimer(act, drawMoment(stage, planned));
  }
}

function readJob({ time, service }: Model, { plan }: SimPlan): Promise<Job | undefined> {
  return time.perform(() => service.state.jobs.findOfPlan(plan.id));
}

function findJob(stage: Model, planned: SimPlan): Promise<Job | undefined> {
  return stage.time.drive(readJob(stage, planned));
}

/** Checks that no attempted row looks unstarted, as the next process relies on that. */
async function checkRound(stage: Model, planned: SimPlan): Promise<void> {
  const { time, service, attempted, complain } = stage;
  const job = await findJob(stage, planned);
  const page = { limit: 1000 };
  const receipts =
    job === undefined
      ? []
      : await time.drive(time.perform(() => service.state.jobs.listReceipts(job, page)));
  for (const { position, status } of receipts) {
    const name = planned.name(position);
    if (status === null && attempted.has(name)) complain(`${name} was started without a record`);
  }
}
