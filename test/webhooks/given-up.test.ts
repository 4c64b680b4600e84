import { describe, expect, test } from "vitest";
import { listDead, sendAgain, tidyOutboxes, type WebhookKey } from "../../src/store/webhooks.ts";
import { refuse, take, type TestReceiver } from "../support/receiver.ts";
import { waitUntil } from "../support/wait-until.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** Events are given up after a day of failed attempts, kept for a week, and can be sent again. */

const hour_ms = 60 * 60 * 1000;

let receiver: TestReceiver;
let world: World;

const { create, find, suspend } = openWithReceiver(
  (opened) => ({ world, receiver } = opened),
  refuse,
);

async function createLinks(count: number, name: string): Promise<void> {
  for (let each = 0; each < count; each += 1) await create(`${name}-${each}`);
}

async function deliverHourly(deliverDue: () => Promise<void>, hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour += 1) {
    await deliverDue();
    world.advance(hour_ms);
  }
}

/** An event that failed for a day. */
async function giveUp() {
  const webhook = await addWebhook(world, receiver.url);
  await create("spring");
  const { deliverDue, measure } = deliverIn(world);
  await deliverHourly(deliverDue, 24);
  expect(await find(webhook)).toMatchObject({ waiting: 1, dead: 0 });
  await deliverDue();
  return { webhook, deliverDue, measure };
}

const resend = (webhook: WebhookKey, eventId?: string) =>
  world.store.write((db) => sendAgain(db, webhook, eventId, world.now()));

describe("an event that fails for a day", () => {
  test("is given up and shown, and is sent again on request", async () => {
    const { webhook, deliverDue, measure } = await giveUp();
    expect(await find(webhook)).toMatchObject({ waiting: 0, dead: 1, last_fault: "status 500" });
    const dead = await listDead(world.store.db, webhook, 10);
    const tried = receiver.received.length;
    expect(dead).toMatchObject([{ event: "link.created", fault: "status 500", attempts: tried }]);
    expect(measure()).toEqual({ delivered: 0, failed: tried, given_up: 1 });
    await deliverHourly(deliverDue, 2);
    expect(receiver.received).toHaveLength(tried);

    receiver.doing(take);
    const eventId = dead[0]?.event_id;
    expect([await resend(webhook, eventId), await resend(webhook, eventId)]).toEqual([1, 0]);
    await deliverDue();
    expect(receiver.received).toHaveLength(tried + 1);
    expect(await find(webhook)).toMatchObject({ waiting: 0, dead: 0, last_fault: null });
    expect(measure()).toMatchObject({ delivered: 1 });
  });

  test("is retried for another day after it was sent again", async () => {
    const { webhook, deliverDue } = await giveUp();
    world.advance(hour_ms);
    await resend(webhook);
    for (const outcome of [{ waiting: 1 }, { waiting: 1 }, { waiting: 0, dead: 1 }]) {
      await deliverDue();
      expect(await find(webhook)).toMatchObject(outcome);
      world.advance(12 * hour_ms);
    }
  });

  test("is kept for a week", async () => {
    const { webhook } = await giveUp();
    world.advance(6 * 24 * hour_ms);
    await tidyOutboxes(world.store, world.now());
    expect(await find(webhook)).toMatchObject({ dead: 1 });
    world.advance(2 * 24 * hour_ms);
    const errors: unknown[] = [];
    world.store.watchChores(world.clock, (error) => errors.push(error));
    await waitUntil(async () => (await find(webhook))?.dead === 0);
    expect(errors).toEqual([]);
  });
});

test("all events are given up when their receiver fails for a day", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await createLinks(20, "link");
  const { deliverDue } = deliverIn(world);
  for (let passed_ms = 0; passed_ms < 27 * hour_ms; passed_ms += hour_ms / 6) {
    await deliverDue();
    world.advance(hour_ms / 6);
  }
  expect(await find(webhook)).toMatchObject({ waiting: 0, dead: 20 });
});

test("an event that waited two days for a process is retried for a day from then", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await createLinks(1, "friday");
  await deliverIn(world).deliverDue();
  world.advance(1);
  await createLinks(20, "weekend");
  world.advance(48 * hour_ms);
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  expect(await find(webhook)).toMatchObject({ waiting: 20, dead: 1 });
  receiver.doing(take);
  receiver.received.length = 0;
  world.advance(60_000);
  await deliverDue();
  expect(receiver.received).toHaveLength(20);
  expect(await find(webhook)).toMatchObject({ waiting: 0, failing_since: null });
});

test("the events of a suspended project are kept until the suspension ends", async () => {
  const webhook = await addWebhook(world, receiver.url);
  const { deliverDue } = deliverIn(world);
  await createLinks(1, "early");
  await deliverHourly(deliverDue, 3);
  await createLinks(5, "late");
  await deliverHourly(deliverDue, 21);
  await suspend(1);
  await deliverHourly(deliverDue, 2);
  await suspend(0);
  expect(await find(webhook)).toMatchObject({ waiting: 6, dead: 0 });
});
