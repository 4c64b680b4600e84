import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { FindOwner } from "../../../src/bulk/apply/go-on-with-lost.ts";
import type { Owner } from "../../../src/bulk/owner.ts";
import { CallFailure } from "../../../src/client/call-failure.ts";
import type { Client } from "../../../src/client/client.ts";
import { Problem } from "../../../src/contract/problem.ts";
import { StoreBusy } from "../../../src/sql/faults.ts";
import { goOnFor_ms, goOnWithin_ms, lease_ms } from "../../../src/state/job-leases.ts";
import type { Job } from "../../../src/state/jobs.ts";
import type { Plan } from "../../../src/state/plans.ts";
import { createGate } from "../../support/gate.ts";
import { createWorld, type World } from "../../support/world.ts";
import { openBulk, type TimelessBulk } from "../timeless-bulk.ts";

/** Jobs of a process that has gone, and one that lives and looks for them. */

const keyId = "the key's id";
let world: World;
let living: TimelessBulk;
let asked: (readonly [planId: string, keyId: string])[];

beforeEach(async () => {
  world = await createWorld();
  living = await openBulk(world);
  asked = [];
  isOut = false;
});

afterEach(async () => {
  await living[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const findOwner: FindOwner = (plan, _job, { key_id }) => {
  asked.push([plan.id, key_id]);
  return Promise.resolve(living.owner);
};

function follow(find: FindOwner = findOwner, mayBeThere = () => true): void {
  living.bulk.followLost({ findOwner: find, mayBeThere });
}

async function planThree(): Promise<Plan> {
  const rows = ["a", "b", "c"].map((path) => ({ path, url: "https://example.com" }));
  const wanted = { operation: "upsert", source: { rows } } as const;
  return (await living.bulk.plan(wanted, living.owner)).plan;
}

/** As a process leaves it that is killed while it applies the plan. */
async function leaveKilled(plan: Plan, key_id?: string): Promise<Job> {
  const { jobs } = living.state;
  const job = await jobs.open(plan, undefined, key_id);
  await jobs.take({ id: job.id, runner: "killed" });
  return job;
}

function refuseKey(): Promise<never> {
  return Promise.reject(new Problem(401, "The API key is not valid."));
}

/** The job as soon as it is in that state. */
function lookUntil(job: Job, state: Job["state"]): Promise<Job> {
  return lookUntilIs(job, (found) => found.state === state);
}

function lookUntilIs({ id }: Job, isWanted: (found: Job) => boolean): Promise<Job> {
  const wait = async () => {
    for (;;) {
      const found = await living.state.jobs.find(id);
      if (found !== undefined && isWanted(found)) return found;
      await sleepAwhile();
    }
  };
  return living.time.drive(wait());
}

/** The job after the living process has looked for it some times. */
function lookLater({ id }: Job): Promise<Job | undefined> {
  const wait = async () => {
    for (let times = 0; times < 5; times += 1) await sleepAwhile();
    return living.state.jobs.find(id);
  };
  return living.time.drive(wait());
}

/** As long as the living process sleeps between two looks. */
function sleepAwhile(): Promise<void> {
  return living.time.sleep(2000);
}

describe("a job whose process was killed", () => {
  test("goes on when its lease is over, and not before", async () => {
    const plan = await planThree();
    const job = await leaveKilled(plan, keyId);
    follow();
    world.advance(lease_ms - 1);
    expect(await lookLater(job)).toMatchObject({ state: "running", counts: { left: 3 } });
    expect(asked).toEqual([]);
    world.advance(1);
    const ended = await lookUntil(job, "done");
    expect(ended).toMatchObject({ state: "done", counts: { done: 3, unknown: 0, left: 0 } });
    expect(asked).toEqual([[plan.id, keyId]]);
    expect((await world.call("GET", "/links")).body.meta.count).toBe(3);
  });

  test("is running for who asks, until nobody has gone on with it in time", async () => {
    const job = await leaveKilled(await planThree(), keyId);
    world.advance(lease_ms + goOnWithin_ms - 1);
    expect(await lookLater(job)).toMatchObject({ state: "running", isHeld: false });
    world.advance(1);
    expect(await lookLater(job)).toMatchObject({ state: "interrupted" });
  });

  test("waits for who asks where it was killed a while ago", async () => {
    const job = await leaveKilled(await planThree(), keyId);
    world.advance(lease_ms + goOnFor_ms);
    follow();
    expect(await lookLater(job)).toMatchObject({ state: "interrupted" });
    expect(asked).toEqual([]);
  });

  test("waits for who asks where a person began it at a terminal", async () => {
    const job = await leaveKilled(await planThree());
    world.advance(lease_ms);
    follow();
    expect(await lookLater(job)).toMatchObject({ state: "interrupted" });
    expect(asked).toEqual([]);
  });

  test("is left to others where this process may not do it, and asked about once", async () => {
    const job = await leaveKilled(await planThree(), keyId);
    world.advance(lease_ms);
    follow((plan, _job, { key_id }) => {
      asked.push([plan.id, key_id]);
      return Promise.resolve(undefined);
    });
    expect(await lookLater(job)).toMatchObject({ state: "running", isHeld: false });
    expect(asked).toHaveLength(1);
  });

  test("says why it cannot go on, for nobody has asked", async () => {
    const job = await leaveKilled(await planThree(), keyId);
    world.advance(lease_ms);
    follow(() => Promise.resolve({ ...living.owner, call: refuseKey }));
    const ended = await lookUntil(job, "interrupted");
    expect(ended).toMatchObject({ state: "interrupted", message: "The API key is not valid." });
  });

  test("goes on although another one cannot be looked at", async () => {
    const first = await leaveKilled(await planThree(), "broken");
    const second = await leaveKilled(await planThree(), keyId);
    world.advance(lease_ms);
    follow(async (plan, job, lost) => {
      if (lost.key_id === "broken") throw new Error("it cannot be read");
      return findOwner(plan, job, lost);
    });
    expect(await lookUntil(second, "done")).toMatchObject({ state: "done" });
    expect(await lookLater(first)).toMatchObject({ counts: { left: 3 } });
    // However often it looks.
    expect(living.reported.map(String)).toEqual(["Error: it cannot be read"]);
  });

  test("goes on although the deployment of another one does not answer", async () => {
    const first = await leaveKilled(await planThree(), "slow");
    const second = await leaveKilled(await planThree(), keyId);
    world.advance(lease_ms);
    const answered = createGate();
    const waiting: Client["call"] = async (...given) => {
      await answered.opened;
      return living.owner.call(...given);
    };
    const slow = { ...living.owner, call: waiting };
    follow((_plan, _job, { key_id }) => Promise.resolve(key_id === "slow" ? slow : living.owner));
    try {
      expect(await lookUntil(second, "done")).toMatchObject({ state: "done" });
      expect(await lookLater(first)).toMatchObject({ isHeld: true, counts: { left: 3 } });
    } finally {
      answered.open();
    }
    // Its paths are the other one's by now.
    expect(await lookUntil(first, "done")).toMatchObject({ counts: { rejected: 3, left: 0 } });
  });

  test("goes on although that of one that was lost before it does not answer", async () => {
    await leaveKilled(await planThree(), "slow");
    world.advance(lease_ms);
    const [asked, answered] = [createGate(), createGate()];
    const waiting: Client["call"] = async (...given) => {
      asked.open();
      await answered.opened;
      return living.owner.call(...given);
    };
    const slow = { ...living.owner, call: waiting };
    follow((_plan, _job, { key_id }) => Promise.resolve(key_id === "slow" ? slow : living.owner));
    try {
      await living.time.drive(asked.opened);
      const later = await leaveKilled(await planThree(), keyId);
      world.advance(lease_ms);
      expect(await lookUntil(later, "done")).toMatchObject({ counts: { done: 3 } });
    } finally {
      answered.open();
    }
  });
});

test("a job that is handed over goes on at once in another process", async () => {
  const plan = await planThree();
  const leaving = await openBulk(world);
  leaving.bulk.handOver();
  const job = await leaving.bulk.apply(plan, { ...leaving.owner, key_id: keyId });
  await leaving[Symbol.asyncDispose]();
  expect(await lookLater(job)).toMatchObject({ state: "running", isHeld: false });
  follow();
  expect(await lookUntil(job, "done")).toMatchObject({ state: "done", counts: { done: 3 } });
});

const away = new StoreBusy("the database cannot be reached", { outage: "away" });
const overloaded = new CallFailure("overloaded", "It is overloaded.", {
  effect: "none",
  retry: "later",
});
/** Whether the deployment does not answer. */
let isOut: boolean;

const call: Client["call"] = (...given) =>
  isOut ? Promise.reject(overloaded) : living.owner.call(...given);
const findCaller: FindOwner = () => Promise.resolve({ ...living.owner, key_id: keyId, call });

async function apply(owner: Partial<Owner> = { key_id: keyId }): Promise<Job> {
  const plan = await planThree();
  return living.time.drive(living.bulk.apply(plan, { ...living.owner, call, ...owner }));
}

/** The waits before a try are of the clock, and those of a request are not. */
async function passTime(milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 4000) {
    world.advance(4000);
    await living.time.drive(sleepAwhile());
  }
}

describe("a job that an outage has interrupted", () => {
  test("goes on by itself when the store answers again, and says why it waits", async () => {
    follow();
    vi.spyOn(living.state.jobs, "noteSent").mockRejectedValueOnce(away);
    const job = await apply();
    expect(await lookUntilIs(job, ({ isHeld }) => !isHeld)).toMatchObject({
      state: "running",
      message: expect.stringContaining("database"),
    });
    world.advance(1000);
    const ended = await lookUntil(job, "done");
    expect(ended).toMatchObject({ message: null, counts: { done: 3, unknown: 0 } });
    expect((await world.call("GET", "/links")).body.meta.count).toBe(3);
  });

  test("goes on by itself when the deployment answers again, whenever that is", async () => {
    follow(findCaller);
    isOut = true;
    // Whoever applies the plan is told that it runs, for it will.
    const job = await apply();
    expect(job).toMatchObject({ state: "running", message: "It is overloaded." });
    await passTime(60_000);
    expect(await lookLater(job)).toMatchObject({ state: "running", counts: { left: 3 } });
    isOut = false;
    await passTime(4000);
    expect(await lookUntil(job, "done")).toMatchObject({ counts: { done: 3 } });
  });

  test("waits for who asks where nothing has come of it for minutes", async () => {
    follow(findCaller);
    isOut = true;
    const job = await apply();
    await passTime(goOnFor_ms + 8000);
    expect(await lookLater(job)).toMatchObject({
      state: "interrupted",
      message: "It is overloaded.",
      counts: { left: 3 },
    });
    isOut = false;
    await passTime(8000);
    expect(await lookLater(job)).toMatchObject({ state: "interrupted" });
  });

  test("waits for who asks where no process goes on with what it has left", async () => {
    isOut = true;
    await expect(apply()).rejects.toBe(overloaded);
    follow(findCaller);
    await expect(apply({})).rejects.toBe(overloaded);
    const { jobs } = await living.bulk.listJobs(living.owner, 1);
    expect(jobs.map(({ state }) => state)).toEqual(["interrupted", "interrupted"]);
  });
});

test("nothing is opened to look for jobs where none can be", async () => {
  follow(findOwner, () => false);
  const job = await leaveKilled(await planThree(), keyId);
  world.advance(lease_ms);
  expect(await lookLater(job)).toMatchObject({ counts: { left: 3 } });
  expect(asked).toEqual([]);
});
