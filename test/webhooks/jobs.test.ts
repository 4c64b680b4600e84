import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createForwarder } from "../../src/compose/forward-notices.ts";
import { lease_ms } from "../../src/state/job-leases.ts";
import type { PlanRow } from "../../src/state/plans.ts";
import type { TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** Jobs whose end nobody else has told of. */

let receiver: TestReceiver;
let world: World;

openWithReceiver((opened) => ({ world, receiver } = opened));

async function* listRows(): AsyncGenerator<PlanRow> {
  const blank = { row: null, link_id: null, fields: {}, before: null, message: null };
  yield { ...blank, position: 0, action: "create", path: "p" };
}

test("a job that was cancelled after its process was killed is told of, once", async () => {
  const { store, project, clock } = world;
  await addWebhook(world, receiver.url, ["job.finished"]);
  const state = await world.openState({ clock, random: { bytes: randomBytes } });
  const wanted = { key_print: "key", origin: "here", operation: "upsert" } as const;
  const plan = await state.plans.save({ ...wanted, undoes: null, problems: [] }, listRows());
  const writer = { realm: project.id, tool: "apply_plan", client: null, key_print: "key" };
  const { id } = await state.jobs.open(plan, writer, "a key");
  await state.jobs.take({ id, runner: "killed" });
  await state.jobs.cancel(id);

  const lazy = { exists: () => true, open: () => Promise.resolve(state) };
  const collect = createForwarder(store, lazy);
  const { deliverDue } = deliverIn(world, { collect });
  await deliverDue();
  expect(receiver.received).toHaveLength(0);
  for (const passed_ms of [lease_ms, lease_ms]) {
    world.advance(passed_ms);
    await deliverDue();
  }
  expect(receiver.received.map(({ body }) => body.data.job)).toEqual([
    expect.objectContaining({ id, plan_id: plan.id, state: "cancelled" }),
  ]);
  await state.close();
});
