import { expect, test } from "vitest";
import { findWebhook, type OwnWebhook } from "../../src/store/webhooks.ts";
import { refuse, take, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** What is given up after a day of failed attempts, and what is not. */

const hour_ms = 60 * 60 * 1000;

let receiver: TestReceiver;
let world: World;

openWithReceiver((opened) => ({ world, receiver } = opened), refuse);

const look = (webhook: OwnWebhook) => findWebhook(world.store.db, webhook);

async function createLinks(count: number, name: string): Promise<void> {
  for (let each = 0; each < count; each += 1) {
    await world.call("POST", "/links", { body: { path: `${name}-${each}` } });
  }
}

async function deliverHourly(deliverDue: () => Promise<void>, hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour += 1) {
    await deliverDue();
    world.advance(hour_ms);
  }
}

const suspend = (suspended: 0 | 1) =>
  world.store.db
    .updateTable("projects")
    .set({ suspended })
    .where("id", "=", world.project.id)
    .execute();

test("all events are given up when their receiver takes nothing for a day", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await createLinks(20, "link");
  const { deliverDue } = deliverIn(world);
  for (let passed_ms = 0; passed_ms < 27 * hour_ms; passed_ms += hour_ms / 6) {
    await deliverDue();
    world.advance(hour_ms / 6);
  }
  expect(await look(webhook)).toMatchObject({ waiting: 0, dead: 20 });
});

test("events that no process delivered for two days are delivered when one does", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await createLinks(1, "friday");
  await deliverIn(world).deliverDue();
  world.advance(1);
  await createLinks(20, "weekend");
  world.advance(48 * hour_ms);
  // The receiver is started on Monday as well, and a little later.
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  expect(await look(webhook)).toMatchObject({ waiting: 20, dead: 1 });
  receiver.doing(take);
  receiver.received.length = 0;
  world.advance(60_000);
  await deliverDue();
  expect(receiver.received).toHaveLength(20);
  expect(await look(webhook)).toMatchObject({ waiting: 0, failing_since: null });
});

test("what waits for a suspended project is kept until that is over", async () => {
  const webhook = await addWebhook(world, receiver.url);
  const { deliverDue } = deliverIn(world);
  await createLinks(1, "early");
  await deliverHourly(deliverDue, 3);
  await createLinks(5, "late");
  await deliverHourly(deliverDue, 21);
  await suspend(1);
  await deliverHourly(deliverDue, 2);
  await suspend(0);
  expect(await look(webhook)).toMatchObject({ waiting: 6, dead: 0 });
});
