import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createForwarder } from "../../src/app/process/webhooks.ts";
import { lease_ms } from "../../src/state/job-runs.ts";
import type { PlanRow } from "../../src/state/plans.ts";
import type { State } from "../../src/state/state.ts";
import type { TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "./webhook-world.ts";
import type { World } from "../support/world.ts";

/** Tests the webhook events of cancelled jobs. */

let receiver: TestReceiver;
let world: World;
let state: State;
let id: string;
let deliverDue: () => Promise<void>;

openWithReceiver((opened) => ({ world, receiver } = opened));

beforeEach(async () => {
  const { store, project, clock } = world;
  await addWebhook(world, receiver.url, ["job.finished"]);
  state = await world.openState({ clock, random: { bytes: randomBytes } });
  const wanted = { key_print: "key", origin: "here", operation: "upsert" } as const;
  const plan = await state.plans.save({ ...wanted, undoes: null, problems: [] }, listRows());
  const writer = { realm: project.id, tool: "apply_plan", client: null, key_print: "key" };
  const named = { ...writer, name: "creates 1 link" };
  ({ id } = await state.jobs.open(plan, named, "a key"));
  const lazy = { exists: () => true, open: () => Promise.resolve(state) };
  ({ deliverDue } = deliverIn(world, { collect: createForwarder(store, lazy) }));
});
afterEach(() => state.close());

async function* listRows(): AsyncGenerator<PlanRow> {
  const blank = { row: null, link_id: null, fields: {}, before: null, message: null };
  yield { ...blank, position: 0, action: "create", path: "p" };
}

async function listReceived(): Promise<readonly unknown[]> {
  await deliverDue();
  return receiver.received.map(({ body }) => body.data.job);
}

const cancelled = () => expect.objectContaining({ id, state: "cancelled" });

test("a cancelled job's event is sent immediately if no process is running the job", async () => {
  const run = { id, runner: "one" };
  await state.jobs.take(run);
  await state.jobs.release(run, "interrupted", "an outage");
  await state.jobs.cancel(id);
  expect(await listReceived()).toEqual([cancelled()]);
});

test("a cancelled job's event is sent when the job's last running row finishes", async () => {
  const run = { id, runner: "slow" };
  await state.jobs.take(run);
  await state.jobs.noteSent(run, 0);
  await state.jobs.cancel(id);
  for (let passed_ms = 0; passed_ms < 3 * lease_ms; passed_ms += lease_ms / 2) {
    // The job may not start more rows.
    expect(await state.jobs.renew(run)).toBe(false);
    world.advance(lease_ms / 2);
    expect(await listReceived()).toEqual([]);
  }
  await state.jobs.noteEnd(run, 0, { status: "done" });
  await state.jobs.release(run, "interrupted");
  const counts = { done: 1, rejected: 0, unknown: 0, left: 0 };
  expect(await listReceived()).toEqual([expect.objectContaining({ id, counts })]);
  expect(await listReceived()).toHaveLength(1);
});

test.each([
  ["the lease expires", lease_ms],
  ["the process restarts an hour later", 60 * 60_000],
  ["the clock is set back", -2 * lease_ms],
])(
  "the event of a cancelled job whose process was killed is sent only once, when %s",
  async (_, passed_ms) => {
    await state.jobs.take({ id, runner: "killed" });
    await state.jobs.cancel(id);
    expect(await listReceived()).toEqual([]);
    world.advance(passed_ms);
    expect(await listReceived()).toEqual([cancelled()]);
    world.advance(lease_ms);
    expect(await listReceived()).toHaveLength(1);
  },
);
