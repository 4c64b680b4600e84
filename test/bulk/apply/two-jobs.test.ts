import { describe, expect, test } from "vitest";
import type { Send } from "../../../src/client/send-once.ts";
import { contract } from "../../../src/contract/index.ts";
import type { Job } from "../../../src/state/jobs.ts";
import type { Plan } from "../../../src/state/plans.ts";
import type { State } from "../../../src/state/state.ts";
import { sendByFetch } from "../../support/stage.ts";
import { openForEach } from "../../support/open-for.ts";
import { createWorld, type World } from "../../support/world.ts";
import { createChance } from "../../support/chance.ts";
import { startInstance, type Instance } from "../simulator/instance.ts";
import { createVirtualTime, type VirtualTime } from "../simulator/virtual-time.ts";
import { waitForEnd } from "../wait-for-end.ts";

/** Two jobs and a user share one key in three processes, in virtual time with rate limits. */

const { links } = contract;
const random = createChance(0, "two jobs");
/** The rows of one job. Two jobs exceed the budget of a minute. */
const each = 330;
const latency_ms = { least: 10, most: 60 } as const;

let world: World;
let time: VirtualTime;
let openState: () => Promise<State>;
let statuses: number[];

openForEach(createWorld, (opened, keep) => {
  world = opened;
  time = createVirtualTime(world.advance);
  statuses = [];
  openState = async () => keep(await world.openState({ clock: world.clock, random }));
});

async function start(name: string): Promise<Instance> {
  const { clock, key } = world;
  const state = await openState();
  const send = sendByFetch(async (request) => {
    const response = await time.perform(() => world.fetch(request));
    statuses.push(response.status);
    return response;
  });
  const travel = () => time.sleep(random.between(latency_ms.least, latency_ms.most));
  const slowly: Send = async (request, signal) => {
    await travel();
    const reply = await send(request, signal);
    await travel();
    return reply;
  };
  const machine = { time, state, clock, random, key, keyPrint: "key", connect: () => slowly };
  return startInstance({ ...machine, note: () => {}, watchSent: () => {} }, name);
}

async function plan({ bulk, owner }: Instance, prefix: string, count: number): Promise<Plan> {
  const rows = Array.from({ length: count }, (_, index) => ({ path: `${prefix}${index}` }));
  return await bulk.plan({ operation: "upsert", source: { rows } }, owner);
}

type Run = { readonly job: Job; readonly took_ms: number };

async function run({ bulk, owner }: Instance, made: Plan): Promise<Run> {
  const began = time.elapsed();
  const job = await waitForEnd(bulk, bulk.apply(made, owner));
  return { job, took_ms: time.elapsed() - began };
}

const countDone = async ({ bulk, owner }: Instance) =>
  (await bulk.listJobs(owner, 1)).jobs.map(({ counts }) => counts.done);

describe("two jobs with the same key", () => {
  test("leave enough of the rate limit for a user's other requests", async () => {
    const [one, two, chat] = [await start("one"), await start("two"), await start("chat")];
    const { id = "" } = await time.drive(chat.owner.call(links.create, { path: "mine" }));
    let isOver = false;
    const waits: number[] = [];
    /** The user sends requests from a separate process and from a process with a job. */
    const work = async () => {
      while (!isOver) {
        await time.sleep(random.between(500, 4000));
        const { call } = random.pick([chat, one]).owner;
        const began = time.elapsed();
        await call(links.update, { id, name: `Turn ${waits.length}` });
        waits.push(time.elapsed() - began);
      }
    };
    const plans = [
      await time.drive(plan(one, "a", each)),
      await time.drive(plan(two, "b", each)),
    ] as const;
    const both = Promise.all([run(one, plans[0]), run(two, plans[1])]).finally(() => {
      isOver = true;
    });
    const [[first, second]] = await time.drive(Promise.all([both, work()]));
    expect(first.job).toMatchObject({ state: "done", counts: { done: each, left: 0 } });
    expect(second.job).toMatchObject({ state: "done", counts: { done: each, left: 0 } });
    expect(statuses).not.toContain(429);
    // Six hundred requests a minute are allowed, and nearly all are used.
    const writes = 2 * each + waits.length;
    expect(Math.max(first.took_ms, second.took_ms)).toBeLessThan(writes * 105);
    expect(waits.length).toBeGreaterThan(15);
    expect(waits.filter((wait) => wait < 200).length).toBeGreaterThan(waits.length / 2);
    // Once the budget is used up, a request waits for the rows that are already running.
    expect(Math.max(...waits)).toBeLessThan(2500);
  });

  test("apply rows at the same rate, however many rows each job has", async () => {
    const [long, short] = [await start("long"), await start("short")];
    let seen: readonly number[] = [];
    const sixty = await time.drive(plan(short, "short", 60));
    const longer = run(long, await time.drive(plan(long, "long", 180)));
    const shorter = run(short, sixty).then(async (ended) => {
      seen = await countDone(long);
      return ended;
    });
    const [first, second] = await time.drive(Promise.all([longer, shorter]));
    expect([first.job.state, second.job.state]).toEqual(["done", "done"]);
    // When the shorter job was done, the longer job had applied the same number of rows.
    expect(Math.max(...seen)).toBeLessThanOrEqual(66);
    expect(Math.min(...seen)).toBeGreaterThanOrEqual(54);
    // Until then the jobs alternated. Then only the longer job sent requests.
    expect(second.took_ms).toBeGreaterThan(110 * 102);
    expect(first.took_ms).toBeLessThan(240 * 105);
  });
});
