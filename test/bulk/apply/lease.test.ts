import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { keepLease } from "../../../src/bulk/apply/job-runner.ts";
import { createBulk, type Bulk } from "../../../src/bulk/bulk.ts";
import type { Owner } from "../../../src/bulk/owner.ts";
import { mostSkew_ms } from "../../../src/contract/clock.ts";
import { contract } from "../../../src/contract/index.ts";
import { messages } from "../../../src/contract/messages.ts";
import { lease_ms } from "../../../src/state/job-runs.ts";
import type { State } from "../../../src/state/state.ts";
import { createTimedClient } from "../../client/clients.ts";
import {
  createGate,
  type Gate,
  createTestClock,
  type TestClock,
  waitUntil,
} from "../../support/clock.ts";
import { openForEach } from "../../support/open-for.ts";
import { createWorld, type World } from "../../support/world.ts";

/** A process keeps the lease of its job, however long the remote server takes to answer. */

const { links } = contract;
const random = { bytes: (count: number) => randomBytes(count) };
let world: World;
let clock: TestClock;
let state: State;
let other: State;
let bulk: Bulk;
let owner: Owner;
let writes: number;
/** Gates for the next lookup of a link: when it was requested, and when it may be answered. */
let slow: { readonly asked: Gate; readonly answered: Gate } | undefined;

openForEach(createWorld, async (opened, keep) => {
  [world, writes, slow] = [opened, 0, undefined];
  clock = createTestClock();
  state = keep(await world.openState({ clock, random }));
  other = keep(await world.openState({ clock, random }));
  const reporting = { report: String, spacing_ms: 0 };
  const openState = () => Promise.resolve(state);
  bulk = keep(createBulk({ openState, clock, random, sleep: clock.sleep, ...reporting }));
  const { client } = createTimedClient({ world });
  const call: Owner["call"] = async (endpoint, input, signal, options) => {
    if (endpoint.tool === links.update.tool) writes += 1;
    if (endpoint.tool === links.show.tool) {
      slow?.asked.open();
      await slow?.answered.opened;
    }
    return client.call(endpoint, input, signal, options);
  };
  owner = { key_print: "key", origin: "here", call };
});

async function planUpdate() {
  const made = await world.call("POST", "/links", { body: { path: "a", name: "Old" } });
  const rows = [{ id: made.body.id, name: "New" }];
  return await bulk.plan({ operation: "update", source: { rows } }, owner);
}

/** Lets the time of three leases pass. The process that has the job renews its lease. */
async function passLeases(): Promise<void> {
  for (let passed = 0; passed < 3 * lease_ms; passed += 1000) {
    await clock.untilAsleep(1);
    clock.advance(1000);
  }
  await clock.untilAsleep(1);
}

async function expectKept(): Promise<string> {
  const [job] = (await bulk.listJobs(owner, 1)).jobs;
  const id = job?.id ?? "";
  expect(job).toMatchObject({ state: "running", isHeld: true, counts: { left: 1 } });
  expect(await other.jobs.take({ id, runner: "another" })).toBe(false);
  return id;
}

async function expectDone(id: string): Promise<void> {
  const find = () => bulk.findJob(id, owner);
  await waitUntil(async () => (await find())?.state !== "running");
  expect(await find()).toMatchObject({ state: "done", isHeld: false, counts: { done: 1 } });
  expect(writes).toBe(1);
}

test("a job keeps its lease while a slow server confirms the key's project", async () => {
  const plan = await planUpdate();
  slow = { asked: createGate(), answered: createGate() };
  const applying = bulk.apply(plan, owner);
  await slow.asked.opened;
  await passLeases();
  const id = await expectKept();
  slow.answered.open();
  await applying;
  await expectDone(id);
});

test("a resumed job keeps its lease while a slow server confirms the key's project", async () => {
  const plan = await planUpdate();
  const { id } = await other.jobs.open(plan, undefined, "the key's id");
  await other.jobs.take({ id, runner: "killed" });
  clock.advance(lease_ms);
  slow = { asked: createGate(), answered: createGate() };
  bulk.resumeRecent(() => Promise.resolve(owner));
  await slow.asked.opened;
  await passLeases();
  expect(await expectKept()).toBe(id);
  slow.answered.open();
  await expectDone(id);
});

test("a process sends no more rows after another process takes over its job", async () => {
  const plan = await planUpdate();
  slow = { asked: createGate(), answered: createGate() };
  const applying = bulk.apply(plan, owner);
  await slow.asked.opened;
  const [job] = (await bulk.listJobs(owner, 1)).jobs;
  const ahead = await openBehind(-lease_ms);
  expect(await ahead.jobs.take({ id: job?.id ?? "", runner: "another" })).toBe(true);
  await ahead.close();
  slow.answered.open();
  await applying;
  await waitUntil(() => bulk.measure().running === 0);
  expect(writes).toBe(0);
});

test("a failed lease renewal is retried", async () => {
  let renewals = 0;
  const renew = () => {
    renewals += 1;
    return renewals === 1 ? Promise.reject(new Error("away")) : Promise.resolve(true);
  };
  const run = { id: "job", runner: "first" };
  const stop = keepLease({ jobs: { renew }, run, sleep: () => setImmediate() });
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
  await stop();
  expect(renewals).toBeGreaterThan(1);
});

/** Opens the same tables on a machine whose clock is behind. */
const openBehind = (skew_ms: number) =>
  world.openState({ clock: { ...clock, now: () => clock.now() - skew_ms }, random });

test("a machine whose clock is a few seconds behind does not take over a running job", async () => {
  const { id } = await state.jobs.open(await planUpdate(), undefined, "the key's id");
  const [behind, setBack] = [await openBehind(mostSkew_ms), await openBehind(mostSkew_ms + 1)];
  expect(await state.jobs.take({ id, runner: "first" })).toBe(true);
  expect(await behind.jobs.take({ id, runner: "behind" })).toBe(false);
  expect(await state.jobs.renew({ id, runner: "first" })).toBe(true);
  // A lease further ahead than that was written before the clock was set back.
  expect(await setBack.jobs.take({ id, runner: "later" })).toBe(true);
  await Promise.all([behind.close(), setBack.close()]);
});

test("a job releases its lease immediately if the server rejects its key", async () => {
  const plan = await planUpdate();
  const { client } = createTimedClient({ world, key: "unknown" });
  await expect(bulk.apply(plan, { ...owner, call: client.call })).rejects.toThrow(
    messages.key_invalid,
  );
  const [job] = (await bulk.listJobs(owner, 1)).jobs;
  expect(job).toMatchObject({ state: "interrupted", isHeld: false });
  expect(await other.jobs.take({ id: job?.id ?? "", runner: "another" })).toBe(true);
});
