import { describe, expect, test } from "vitest";
import type { FindOwner } from "../../../src/bulk/apply/job-runner.ts";
import { CallFailure } from "../../../src/client/outcome.ts";
import { Problem } from "../../../src/contract/problem.ts";
import { lease_ms } from "../../../src/state/job-runs.ts";
import type { Job } from "../../../src/state/jobs.ts";
import type { Plan } from "../../../src/state/plans.ts";
import { openForEach } from "../../support/open-for.ts";
import type { World } from "../../support/world.ts";
import { openBulk, type TimelessBulk } from "../timeless-bulk.ts";

/** Tests which jobs of earlier processes a starting process resumes. */

const keyId = "the key's id";
const minute_ms = 60_000;
let world: World;
let started: TimelessBulk;
let asked: (readonly [planId: string, keyId: string])[];

openForEach(openBulk, (opened) => {
  started = opened;
  ({ world } = started);
  asked = [];
});

const findOwner: FindOwner = (plan, _job, id) => {
  asked.push([plan.id, id]);
  return Promise.resolve(started.owner);
};

const resume = (find: FindOwner = findOwner) => started.bulk.resumeRecent(find);

async function planThree(): Promise<Plan> {
  const rows = ["a", "b", "c"].map((path) => ({ path, url: "https://example.com" }));
  const wanted = { operation: "upsert", source: { rows } } as const;
  return await started.bulk.plan(wanted, started.owner);
}

async function leaveKilled(plan: Plan, key_id?: string): Promise<Job> {
  const { jobs } = started.state;
  const job = await jobs.open(plan, undefined, key_id);
  await jobs.take({ id: job.id, runner: "killed" });
  return job;
}

const find = async ({ id }: Job) => started.state.jobs.find(id);

function lookUntil(job: Job, isWanted: (found: Job) => boolean): Promise<Job> {
  const wait = async () => {
    for (;;) {
      const found = await find(job);
      if (found !== undefined && isWanted(found)) return found;
      await started.time.sleep(1000);
    }
  };
  return started.time.drive(wait());
}

function lookLater(job: Job): Promise<Job | undefined> {
  const wait = async () => {
    for (let passed_ms = 0; passed_ms < 2 * lease_ms; passed_ms += 1000) {
      await started.time.sleep(1000);
    }
    return find(job);
  };
  return started.time.drive(wait());
}

const refuseKey = () => Promise.reject(new Problem(401, "The API key is not valid."));
const isDone = ({ state }: Job) => state === "done";

describe("a job whose process was killed", () => {
  test("is marked as interrupted as soon as its lease expires", async () => {
    const job = await leaveKilled(await planThree(), keyId);
    world.advance(lease_ms - 1);
    expect(await find(job)).toMatchObject({ state: "running", isHeld: true });
    world.advance(1);
    expect(await find(job)).toMatchObject({ state: "interrupted", isHeld: false });
  });

  test("is resumed by the next process only after the job's lease expires", async () => {
    const plan = await planThree();
    const job = await leaveKilled(plan, keyId);
    resume();
    world.advance(lease_ms - 1);
    expect(await find(job)).toMatchObject({ state: "running", counts: { left: 3 } });
    world.advance(1);
    const ended = await lookUntil(job, isDone);
    expect(ended.counts).toEqual({ done: 3, rejected: 0, unknown: 0, left: 0 });
    expect(asked).toEqual([[plan.id, keyId]]);
    expect((await world.call("GET", "/links")).body.meta.count).toBe(3);
  });

  test("is not resumed by a process that was started before the kill", async () => {
    resume();
    const job = await leaveKilled(await planThree(), keyId);
    world.advance(lease_ms);
    expect(await lookLater(job)).toMatchObject({ state: "interrupted", counts: { left: 3 } });
  });

  test("is resumed only by apply_plan if the next process starts ten minutes later", async () => {
    const plan = await planThree();
    const job = await leaveKilled(plan, keyId);
    world.advance(10 * minute_ms);
    resume();
    expect(await lookLater(job)).toMatchObject({ state: "interrupted", counts: { left: 3 } });
    expect(asked).toEqual([]);
    const applied = await started.untilRest(started.bulk.apply(plan, started.owner));
    expect(applied).toMatchObject({ id: job.id, state: "done", counts: { done: 3 } });
  });

  test("is not resumed automatically if it was started in the CLI", async () => {
    const job = await leaveKilled(await planThree());
    world.advance(lease_ms);
    resume();
    expect(await lookLater(job)).toMatchObject({ state: "interrupted" });
    expect(asked).toEqual([]);
  });

  test("is not resumed by a process without permission to apply the job's plan", async () => {
    const job = await leaveKilled(await planThree(), keyId);
    world.advance(lease_ms);
    resume(() => Promise.resolve(undefined));
    expect(await lookLater(job)).toMatchObject({ state: "interrupted", counts: { left: 3 } });
  });

  test("stores the reason why the next process could not resume it", async () => {
    const job = await leaveKilled(await planThree(), keyId);
    world.advance(lease_ms);
    resume(() => Promise.resolve({ ...started.owner, call: refuseKey }));
    expect(await lookUntil(job, ({ message }) => message !== null)).toMatchObject({
      state: "interrupted",
      message: "The API key is not valid.",
    });
    expect(started.reported).toEqual([]);
  });

  test("is resumed even if the owner of another killed job cannot be read", async () => {
    const first = await leaveKilled(await planThree(), "broken");
    const second = await leaveKilled(await planThree(), keyId);
    world.advance(lease_ms);
    resume(async (plan, job, id) => {
      if (id === "broken") throw new Error("it cannot be read");
      return findOwner(plan, job, id);
    });
    expect(await lookUntil(second, isDone)).toMatchObject({ counts: { done: 3 } });
    expect(await find(first)).toMatchObject({ state: "interrupted", counts: { left: 3 } });
    expect(started.reported.splice(0).map(String)).toEqual(["Error: it cannot be read"]);
  });
});

test("a new process does not take over a job that another process is running", async () => {
  const job = await leaveKilled(await planThree(), keyId);
  const run = { id: job.id, runner: "killed" };
  resume();
  const renew = async () => {
    for (let passed_ms = 0; passed_ms < 2 * lease_ms; passed_ms += 1000) {
      world.advance(1000);
      expect(await started.state.jobs.renew(run)).toBe(true);
      await started.time.sleep(1000);
    }
  };
  await started.time.drive(renew());
  expect(await find(job)).toMatchObject({ state: "running", counts: { left: 3 } });
});

test("a job interrupted by an outage is resumed only by apply_plan", async () => {
  const plan = await planThree();
  const overloaded = new CallFailure("overloaded", "It is overloaded.", {
    effect: "none",
    retry: "later",
  });
  const owner = { ...started.owner, key_id: keyId, call: () => Promise.reject(overloaded) };
  await expect(started.time.drive(started.bulk.apply(plan, owner))).rejects.toBe(overloaded);
  const [job] = (await started.bulk.listJobs(owner, 1)).jobs;
  if (job === undefined) throw new Error("the job does not exist");
  expect(await lookLater(job)).toMatchObject({
    state: "interrupted",
    message: "It is overloaded.",
    counts: { left: 3 },
  });
  const applied = await started.untilRest(started.bulk.apply(plan, started.owner));
  expect(applied).toMatchObject({ id: job.id, state: "done", message: null });
});
