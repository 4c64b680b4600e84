import { expect, test } from "vitest";
import { tidyDeliveries } from "../../src/store/old-deliveries.ts";
import { findWebhook, type OwnWebhook } from "../../src/store/webhooks.ts";
import { refuse, take, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** What is given up as a whole because its receiver took nothing for a day, and what is not. */

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

test("a receiver that takes nothing for a day is given up on as a whole", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await createLinks(20, "link");
  const { deliverDue } = deliverIn(world);
  await deliverHourly(deliverDue, 25);
  await deliverDue();
  expect(await look(webhook)).toMatchObject({ waiting: 0, dead: 20 });
});

test("what came about while nobody delivered is told when somebody does", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await createLinks(1, "friday");
  await deliverIn(world).deliverDue();
  await createLinks(20, "weekend");
  world.advance(48 * hour_ms);
  // The receiver is started on Monday as well, and a little later.
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  const started = world.now();
  expect(await look(webhook)).toMatchObject({ failing_since: started, waiting: 20, dead: 1 });
  receiver.doing(take);
  receiver.received.length = 0;
  world.advance(60_000);
  await deliverDue();
  expect(receiver.received).toHaveLength(20);
  expect(await look(webhook)).toMatchObject({ waiting: 0, failing_since: null });
});

test("nothing is given up by a process that starts before the receiver was asked", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await createLinks(5, "friday");
  await deliverIn(world).deliverDue();
  world.advance(48 * hour_ms);
  const tidied = await world.store.write((db) => tidyDeliveries(db, webhook, world.now()));
  expect(tidied.givenUp).toBe(0);
  expect(await look(webhook)).toMatchObject({ waiting: 5, dead: 0 });
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
