import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createBulk, type Bulk } from "../../../src/bulk/bulk.ts";
import type { Owner } from "../../../src/bulk/owner.ts";
import type { Client } from "../../../src/client/client.ts";
import { lease_ms } from "../../../src/state/job-runs.ts";
import type { Job, Jobs } from "../../../src/state/jobs.ts";
import type { Plan } from "../../../src/state/plans.ts";
import type { State } from "../../../src/state/state.ts";
import { createTimedClient } from "../../client/clients.ts";
import { createGate } from "../../support/clock.ts";
import { openForAll } from "../../support/open-for.ts";
import { createWorld, type World } from "../../support/world.ts";
import { waitForEnd } from "../wait-for-end.ts";
import { createVirtualTime, type VirtualTime } from "../simulator/virtual-time.ts";

/** A job's process is killed between any two of its steps, and another one resumes the job. */

let world: World;
/** A clock that only the test advances, so that a lease expires when the test decides. */
let time: VirtualTime;

openForAll(createWorld, (opened) => {
  world = opened;
  time = createVirtualTime(() => undefined, opened.isBusy);
});

/** How many rows may be running, without and with those whose results are being saved. */
const mostAtOnce = 8;
const mostInHand = 16;

/** Every step of a process that has an effect outside it passes through here. */
type StepRunner = <Result>(what: string, act: () => Promise<Result>) => Promise<Result>;

const report = () => "reference";

type Process = {
  readonly bulk: Bulk;
  readonly owner: Owner;
  readonly state: State;
  readonly run: (plan: Plan) => Promise<Job>;
};

async function startProcess(door: StepRunner): Promise<Process> {
  const { clock } = world;
  const random = { bytes: (count: number) => randomBytes(count) };
  const state = await world.openState({ clock, random });
  const guarded = { ...state, jobs: guardJobs(state.jobs, door) };
  const openState = () => Promise.resolve(guarded);
  const bulk = createBulk({ openState, clock, random, sleep: time.sleep, spacing_ms: 0, report });
  const { call } = createTimedClient({ world }).client;
  const callThroughDoor = (endpoint: { method: string }, input: { path?: string; id?: string }) => {
    const ask = () => call(endpoint as never, input as never);
    return endpoint.method === "GET" ? ask() : door(`write ${input.path ?? input.id}`, ask);
  };
  // The call is passed on with its own input, so its result has the expected type.
  const owner = { key_print: "key", origin: "here", call: callThroughDoor as Client["call"] };
  return {
    bulk,
    owner,
    state,
    run: (plan) => waitForEnd(bulk, bulk.apply(plan, owner)),
  };
}

function guardJobs(jobs: Jobs, door: StepRunner): Jobs {
  return {
    ...jobs,
    take: (run) => door("take", () => jobs.take(run)),
    renew: (run) => door("renew", () => jobs.renew(run)),
    release: (...given) => door("release", () => jobs.release(...given)),
    listReceipts: (job, page) => door(`list ${page.from ?? 0}`, () => jobs.listReceipts(job, page)),
    noteSent: (run, position) => door(`begin ${position}`, () => jobs.noteSent(run, position)),
    noteEnd: (run, position, end) =>
      door(`end ${position}`, () => jobs.noteEnd(run, position, end)),
  };
}

/** Kills a process after this many steps. Each act has a step before and a step after it. */
function createFate(steps: number) {
  const killed = createGate();
  const underWay = new Set<Promise<unknown>>();
  let left = steps;
  const step = async (what: string) => {
    // The number of lease renewals depends on the disk, so they are not counted.
    if (what !== "renew") left -= 1;
    if (left > 0) return;
    killed.open();
    await new Promise<never>(() => undefined);
  };
  const door: StepRunner = async (what, act) => {
    await step(what);
    const acting = act();
    underWay.add(acting);
    try {
      return await acting;
    } finally {
      underWay.delete(acting);
      await step(what);
    }
  };
  // A sent request still arrives, as no condition would refuse it later.
  const arrive = () => Promise.allSettled(underWay);
  return { door, arrive, killed: killed.opened.then(() => "killed" as const) };
}

type PlanSize = {
  readonly rows: number;
  /** The row that contains an app, which runs with no other row. */
  readonly apart?: number;
};

async function makePlan(process: Process, name: string, { rows, apart }: PlanSize): Promise<Plan> {
  // The key's budget of the previous minute is used up.
  world.advance(60_000);
  const ios_app = { bundle_id: `com.example.${name}`, team_id: "ABCDE12345" };
  const wanted = Array.from({ length: rows }, (_, row) => {
    return { path: `${name}/${row}`, name: "New", ...(row === apart && { ios_app }) };
  });
  for (const { path } of wanted.slice(rows / 2)) {
    await world.call("POST", "/links", { body: { path } });
  }
  const source = { rows: wanted };
  return await process.bulk.plan({ operation: "upsert", source }, process.owner);
}

async function end({ bulk, state }: Process): Promise<void> {
  await time.drive(bulk.close());
  await state.close();
}

async function listStatuses({ state }: Process, plan: Plan) {
  const job = await state.jobs.findOfPlan(plan.id);
  const receipts = job && (await state.jobs.listReceipts(job, { limit: 100 }));
  return (receipts ?? []).map(({ status }) => status);
}

/** Waits until everything else that may start has reached the disk. */
async function comeToDisk({ state }: Process): Promise<void> {
  const missing = { id: "no-job", runner: "no-runner" };
  for (let turn = 0; turn < mostInHand; turn += 1) await state.jobs.renew(missing);
}

test("a job killed between any two of its steps still applies each row once", async () => {
  const rows = 12;
  let ended: Job | "killed" = "killed";
  for (let steps = 1; ended === "killed"; steps += 1) {
    const written: string[] = [];
    const count: StepRunner = async (what, act) => {
      const result = await act();
      if (what.startsWith("write")) written.push(what);
      return result;
    };
    const { door, arrive, killed } = createFate(steps);
    const first = await startProcess((what, act) => door(what, () => count(what, act)));
    const second = await startProcess(count);
    const plan = await makePlan(second, `p${steps}`, { rows, apart: 1 });
    ended = await time.drive(Promise.race([first.run(plan), killed]));
    await time.drive(arrive());
    await first.state.close();
    const doubtful = (await listStatuses(second, plan)).filter((status) => status === "sent");
    expect(doubtful.length).toBeLessThanOrEqual(mostAtOnce);
    world.advance(lease_ms);
    const job = await time.drive(second.run(plan));
    expect(job).toMatchObject({ state: "done", counts: { done: rows, left: 0 } });
    expect(await listStatuses(second, plan)).toEqual(Array(rows).fill("done"));
    expect(written.toSorted()).toEqual([...new Set(written)].toSorted());
    expect(written).toHaveLength(rows);
    await end(second);
  }
  expect(ended).toMatchObject({ state: "done" });
});

test("a job starts no more rows while too many results are unsaved", async () => {
  const rows = 3 * mostInHand;
  const [full, gate] = [createGate(), createGate()];
  const begun: string[] = [];
  const process = await startProcess(async (what, act) => {
    if (what.startsWith("end")) await gate.opened;
    if (what.startsWith("begin") && begun.push(what) === mostInHand) full.open();
    return act();
  });
  const plan = await makePlan(process, "pipe", { rows });
  const running = process.run(plan);
  await time.drive(full.opened);
  await comeToDisk(process);
  expect(begun).toHaveLength(mostInHand);
  gate.open();
  expect(await time.drive(running)).toMatchObject({ state: "done", counts: { done: rows } });
  await end(process);
});

test("a row with a new app runs after all earlier rows and before all later rows", async () => {
  const [apart, rows] = [5, 10];
  const story: string[] = [];
  const process = await startProcess(async (what, act) => {
    if (what.startsWith("begin")) story.push(what);
    const result = await act();
    if (what.startsWith("end")) story.push(what);
    return result;
  });
  const plan = await makePlan(process, "alone", { rows, apart });
  expect(await time.drive(process.run(plan))).toMatchObject({ state: "done" });
  const [begun, noted] = [story.indexOf(`begin ${apart}`), story.indexOf(`end ${apart}`)];
  const isBefore = (what: string) => Number(what.split(" ")[1]) < apart;
  expect(story.slice(0, begun).every(isBefore)).toBe(true);
  expect(begun).toBe(2 * apart);
  expect(noted).toBe(begun + 1);
  expect(story).toHaveLength(2 * rows);
  await end(process);
});

test("a job that fails to read more rows stays locked until its running rows end", async () => {
  const rows = 4;
  const [failed, gate] = [createGate(), createGate()];
  const process = await startProcess(async (what, act) => {
    if (what.startsWith("write")) await gate.opened;
    if (what !== `list ${rows}`) return act();
    failed.open();
    throw new Error("the state is away");
  });
  const plan = await makePlan(process, "unread", { rows });
  const running = process.run(plan);
  await time.drive(failed.opened);
  await comeToDisk(process);
  expect(await process.state.jobs.findOfPlan(plan.id)).toMatchObject({ isHeld: true });
  gate.open();
  const counts = { done: rows, unknown: 0, left: 0 };
  expect(await time.drive(running)).toMatchObject({ state: "interrupted", counts });
  await end(process);
});
