import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createBulk, type Bulk } from "../../../src/bulk/bulk.ts";
import type { Owner } from "../../../src/bulk/owner.ts";
import type { Client } from "../../../src/client/client.ts";
import { lease_ms } from "../../../src/state/job-runs.ts";
import type { Job, Jobs } from "../../../src/state/jobs.ts";
import type { Plan } from "../../../src/state/plans.ts";
import type { State } from "../../../src/state/state.ts";
import { createTraveller } from "../../client/traveller.ts";
import { createGate } from "../../support/clock.ts";
import { openForAll } from "../../support/open-for.ts";
import { createWorld, type World } from "../../support/world.ts";
import { waitForEnd } from "../wait-for-end.ts";
import { createVirtualTime, type VirtualTime } from "../simulator/virtual-time.ts";

/**
 * A job's notes come to the disk while its next rows are begun. So its process is killed here
 * between any two of its steps, one after the other, and another one goes on with the job.
 */

let world: World;
/** Moves no clock: a lease is over when a test says so. */
let time: VirtualTime;

openForAll(createWorld, (opened) => {
  world = opened;
  time = createVirtualTime(() => undefined, opened.isBusy);
});

/** How many rows may be on the way, and how many with those whose ends are being noted. */
const mostAtOnce = 8;
const mostInHand = 16;

/** Everything that a process does to the world around it goes through here. */
type Door = <Result>(what: string, act: () => Promise<Result>) => Promise<Result>;

const report = () => "reference";

type Process = {
  readonly bulk: Bulk;
  readonly owner: Owner;
  readonly state: State;
  /** Applies the plan, or goes on with it, and answers its job when it rests. */
  readonly run: (plan: Plan) => Promise<Job>;
};

async function startProcess(door: Door): Promise<Process> {
  const { clock } = world;
  const random = { bytes: (count: number) => randomBytes(count) };
  const state = await world.openState({ clock, random });
  const guarded = { ...state, jobs: guardJobs(state.jobs, door) };
  const openState = () => Promise.resolve(guarded);
  const bulk = createBulk({ openState, clock, random, sleep: time.sleep, spacing_ms: 0, report });
  const { call } = createTraveller({ world }).client;
  const meet = (endpoint: { method: string }, input: { path?: string; id?: string }) => {
    const ask = () => call(endpoint as never, input as never);
    return endpoint.method === "GET" ? ask() : door(`write ${input.path ?? input.id}`, ask);
  };
  // Each call goes on with what it was given, so that it answers what it would have answered.
  const owner = { key_print: "key", origin: "here", call: meet as Client["call"] };
  return {
    bulk,
    owner,
    state,
    run: (plan) => waitForEnd(bulk, bulk.apply(plan, owner)),
  };
}

function guardJobs(jobs: Jobs, door: Door): Jobs {
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

/** Ends a process after so many steps: one is before each of its acts, one when that is over. */
function createFate(steps: number) {
  const killed = createGate();
  const underWay = new Set<Promise<unknown>>();
  let left = steps;
  const step = async (what: string) => {
    // How often a lease is renewed depends on the disk.
    if (what !== "renew") left -= 1;
    if (left > 0) return;
    killed.open();
    await new Promise<never>(() => undefined);
  };
  const door: Door = async (what, act) => {
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
  // What has left it arrives all the same: here there is no condition that would refuse it later.
  const arrive = () => Promise.allSettled(underWay);
  return { door, arrive, killed: killed.opened.then(() => "killed" as const) };
}

type Wanted = {
  readonly rows: number;
  /** The row that brings an app, and so goes alone. */
  readonly apart?: number;
};

/** Half of the rows are there before it. */
async function makePlan(process: Process, name: string, { rows, apart }: Wanted): Promise<Plan> {
  // The budget of the minute before is spent.
  world.advance(60_000);
  const ios_app = { bundle_id: `com.example.${name}`, team_id: "ABCDE12345" };
  const wanted = Array.from({ length: rows }, (_, row) => {
    return { path: `${name}/${row}`, name: "New", ...(row === apart && { ios_app }) };
  });
  for (const { path } of wanted.slice(rows / 2)) {
    await world.call("POST", "/links", { body: { path } });
  }
  const source = { rows: wanted };
  return (await process.bulk.plan({ operation: "upsert", source }, process.owner)).plan;
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

/** So often that whatever else may begin comes there as well. */
async function comeToDisk({ state }: Process): Promise<void> {
  const nobody = { id: "no-job", runner: "nobody" };
  for (let turn = 0; turn < mostInHand; turn += 1) await state.jobs.renew(nobody);
}

test("a job that is killed between any two of its steps does each row once", async () => {
  const rows = 12;
  let ended: Job | "killed" = "killed";
  for (let steps = 1; ended === "killed"; steps += 1) {
    const written: string[] = [];
    const count: Door = async (what, act) => {
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

test("rows begin while it is noted how others ended, but no more than are in hand", async () => {
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

test("a row that goes alone begins when all before it are noted, and is noted first", async () => {
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

test("a job whose rows cannot be read on is held until those on the way have ended", async () => {
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
