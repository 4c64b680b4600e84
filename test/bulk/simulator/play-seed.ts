import type { PlanInput } from "../../../src/bulk/plan/make-plan.ts";
import { CallFailure } from "../../../src/client/outcome.ts";
import { Problem } from "../../../src/contract/problem.ts";
import type { Job } from "../../../src/state/jobs.ts";
import type { Plan } from "../../../src/state/plans.ts";
import { checkJob, type JobRun } from "./check-job.ts";
import { checkRestored, checkUndoPlan, type UndoCheck } from "./check-undo.ts";
import type { SeedCounts } from "./figures.ts";
import type { Service } from "./shared-service.ts";
import { editAsOtherUser, plantLinks, spendBudget } from "./others.ts";
import { readPlanned, type SimPlan } from "./planned.ts";
import { playJob } from "./play-job.ts";
import { openStage, type Model } from "./stage.ts";
import { type Apps, isSameLink } from "./truth.ts";
import { draftWish, foreseePlan, toPlanWanted, type Goal } from "./wanted.ts";
import { budgets } from "../../../src/contract/limits.ts";
import type { Link } from "../../../src/contract/links.ts";

/** Plays one seed: a project, a plan, its job with all faults, and often its undo. */

export type Outcome = {
  readonly seed: number;
  /** What went wrong. Empty if the seed passed. */
  readonly complaints: readonly string[];
  readonly story: readonly string[];
};

export async function playSeed(
  service: Service,
  seed: number,
  figures: SeedCounts,
): Promise<Outcome> {
  const stage = await openStage(service, seed, figures);
  const { complaints, story } = stage;
  // A stray error would end a real process at once.
  const onStray = (error: unknown) => stage.complain(`unhandled error: ${describeError(error)}`);
  process.on("unhandledRejection", onStray);
  try {
    await play(stage);
  } catch (error) {
    stage.complain(describeError(error));
  } finally {
    process.off("unhandledRejection", onStray);
  }
  figures.add("seeds");
  figures.add("virtual seconds", Math.round(stage.time.elapsed() / 1000));
  return { seed, complaints, story };
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function play(stage: Model): Promise<void> {
  const { chance, truth } = stage;
  await plantLinks(stage);
  const before = new Map(truth.links);
  const wish = draftWish(chance, truth);
  const since = truth.writes.length;
  const planned = await makePlan(stage, wish);
  const isBusy = chance.isLikely(0.01);
  if (isBusy) await spendBudget(stage);
  const { job, receipts } = await apply(stage, planned, { since, firstSince: since, isBusy });
  if (job.state === "done" && chance.isLikely(0.4)) {
    await undo(stage, job, { planned, receipts, since, before, isBusy });
  }
  stage.killAll();
  await stage.time.drain();
  await checkTruth(stage);
  checkBudget(stage);
}

async function undo(
  stage: Model,
  job: Job,
  undone: UndoCheck & { readonly isBusy: boolean },
): Promise<void> {
  const { figures, truth } = stage;
  const { planned, since: firstSince, isBusy } = undone;
  figures.add("undoings");
  const since = truth.writes.length;
  await editAsOtherUsers(stage, planned, 0.3);
  const undoing = await plan(stage, "undo", { undo: job, operation: "upsert" });
  checkUndoPlan(stage, undone, undoing);
  const played = await apply(stage, undoing, { since, firstSince, isBusy });
  if (played.job.state === "done") checkRestored(stage, undone);
}

async function makePlan(stage: Model, wish: Goal): Promise<SimPlan> {
  const { truth, complain } = stage;
  const apps = await listApps(stage);
  const planned = await plan(stage, "plan", toPlanWanted(wish));
  const found = planned.rows.map(({ action, link_id: id }) => ({ action, id }));
  const foreseen = foreseePlan(wish, truth, apps);
  if (JSON.stringify(found) !== JSON.stringify(foreseen)) {
    complain(`planned ${JSON.stringify(found)} instead of ${JSON.stringify(foreseen)}`);
  }
  return planned;
}

async function plan(stage: Model, title: string, wanted: PlanInput): Promise<SimPlan> {
  const { time, door, chance, complain } = stage;
  for (let tries = 1; ; tries += 1) {
    const isCalm = tries > 2 || chance.isLikely(0.5);
    // A key without access to apps may still write links, but its plan contains no apps.
    door.setWeather(isCalm ? 0 : 0.2, "echo_401");
    const { bulk, owner } = stage.start();
    try {
      const made = await time.drive(bulk.plan(wanted, owner));
      door.setWeather(0);
      return await readRows(stage, title, made);
    } catch (error) {
      if (isCalm) throw error;
      const isKnown = [Problem, CallFailure].some((kind) => error instanceof kind);
      if (!isKnown) complain(`planning fails with ${String(error)}`);
    }
  }
}

async function readRows({ time, service }: Model, title: string, plan: Plan): Promise<SimPlan> {
  const { plans } = service.state;
  const rows = await time.drive(time.perform(() => plans.listRows(plan.id, { limit: 1000 })));
  return readPlanned(title, plan, rows);
}

async function apply(
  stage: Model,
  planned: SimPlan,
  { isBusy, ...begun }: Pick<JobRun, "since" | "firstSince"> & { readonly isBusy: boolean },
): Promise<{ readonly job: Job } & Pick<JobRun, "receipts">> {
  const { time, service, chance, figures } = stage;
  stage.note(`${planned.plan.id}: ${JSON.stringify(planned.plan.counts)}`);
  stage.begin(planned);
  if (chance.isLikely(0.5)) await editAsOtherUsers(stage, planned, 0.6);
  const job = await playJob(stage, planned, isBusy);
  // Sent requests may still arrive for a while.
  stage.killAll();
  await time.drain();
  const { jobs } = service.state;
  const read = time.perform(() => jobs.listReceipts(job, { limit: 1000 }));
  const receipts = await time.drive(read);
  const judged: JobRun = { planned, ...begun, receipts, apps: await listApps(stage) };
  figures.add(`jobs: ${job.state}`);
  checkJob(stage, job, judged);
  return { job, receipts };
}

async function editAsOtherUsers(stage: Model, planned: SimPlan, share: number): Promise<void> {
  while (stage.chance.isLikely(share)) await stage.time.drive(editAsOtherUser(stage, planned));
}

async function listApps({ time, askAsOther }: Model): Promise<Apps> {
  const ios = await time.drive(askAsOther("GET", "/ios_apps"));
  const android = await time.drive(askAsOther("GET", "/android_apps"));
  // The lists of the service have this shape.
  const apps = [
    ...(ios.body as { readonly ios_apps: readonly AppRow[] }).ios_apps,
    ...(android.body as { readonly android_apps: readonly AppRow[] }).android_apps,
  ];
  return new Map(
    apps.map(({ id, bundle_id, package_name }) => [bundle_id ?? package_name ?? "", id]),
  );
}

type AppRow = { readonly id: string; readonly bundle_id?: string; readonly package_name?: string };

async function checkTruth({ time, truth, askAsOther, complain }: Model): Promise<void> {
  const { body } = await time.drive(askAsOther("GET", "/links?limit=100"));
  const { links } = body as { readonly links: readonly Link[] };
  const isComplete = links.length === Math.min(100, truth.links.size);
  const isSame = links.every((link) => isSameLink(link, truth.links.get(link.id)));
  if (!isComplete || !isSame) complain("the service contains data that was not seen to be written");
}

function checkBudget({ door, complain }: Model): void {
  const { limit, window_ms } = budgets.link_writes;
  const over = door.counted.findIndex((at, index) => {
    const earlier = door.counted[index - limit];
    return earlier !== undefined && at - earlier < window_ms;
  });
  if (over >= 0) complain(`more than ${limit} writes came within a minute`);
}
