import { describe, expect, test } from "vitest";
import {
  listDead,
  queueEvents,
  sendAgain,
  tidyOutboxes,
  type NewEvent,
  type WebhookKey,
} from "../../src/store/webhooks.ts";
import { refuse, take, type TestReceiver } from "../support/receiver.ts";
import { waitUntil } from "../support/clock.ts";
import { addWebhook, deliverIn, openWithReceiver } from "./webhook-world.ts";
import type { World } from "../support/world.ts";

/** Tests how long and how many undelivered events are stored. */

const hour_ms = 60 * 60 * 1000;

let receiver: TestReceiver;
let world: World;

const { create, find } = openWithReceiver((opened) => ({ world, receiver } = opened), refuse);

async function createLinks(count: number, name: string): Promise<void> {
  for (let each = 0; each < count; each += 1) await create(`${name}-${each}`);
}

async function deliverHourly(deliverDue: () => Promise<void>, hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour += 1) {
    await deliverDue();
    world.advance(hour_ms);
  }
}

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

describe("a webhook event that fails for a day", () => {
  test("is listed as failed and can be resent", async () => {
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

  test("is retried for another day after it is resent", async () => {
    const { webhook, deliverDue } = await giveUp();
    world.advance(hour_ms);
    await resend(webhook);
    for (const outcome of [{ waiting: 1 }, { waiting: 1 }, { waiting: 0, dead: 1 }]) {
      await deliverDue();
      expect(await find(webhook)).toMatchObject(outcome);
      world.advance(12 * hour_ms);
    }
  });

  test("is deleted after a week", async () => {
    const { webhook } = await giveUp();
    world.advance(6 * 24 * hour_ms);
    await tidy();
    expect(await find(webhook)).toMatchObject({ dead: 1 });
    world.advance(2 * 24 * hour_ms);
    const errors: unknown[] = [];
    world.store.watchTasks(world.clock, (error) => errors.push(error));
    await waitUntil(async () => (await find(webhook))?.dead === 0);
    expect(errors).toEqual([]);
  });
});

test("all queued events are marked failed when their receiver has failed for a day", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await createLinks(20, "link");
  const { deliverDue } = deliverIn(world);
  for (let passed_ms = 0; passed_ms < 27 * hour_ms; passed_ms += hour_ms / 6) {
    await deliverDue();
    world.advance(hour_ms / 6);
  }
  expect(await find(webhook)).toMatchObject({ waiting: 0, dead: 20 });
});

test("a webhook event that waits two days for its first attempt is still retried", async () => {
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

const megabyte = "x".repeat(1_000_000);

async function fill(event: NewEvent["event"], count: number, projectId = world.project.id) {
  for (let turn = 0; turn < count; turn += 1) {
    const queued = { event, data: { turn, filler: megabyte } };
    await world.store.write((db) => queueEvents({ db, projectId }, [queued], world.now()));
    world.advance(1);
  }
}

const tidy = () => tidyOutboxes(world.store, world.now());

async function listEvents() {
  const { db } = world.store;
  const all = db.selectFrom("deliveries").select(["event", "body", "webhook_id"]);
  const rows = await all.orderBy("created_at").execute();
  return rows.map(({ event, body, webhook_id }) => {
    const turn = Number(/"turn":(\d+)/.exec(body.slice(0, 200))?.[1] ?? -1);
    return { event, webhook_id, bytes: Buffer.byteLength(body), turn };
  });
}

test("a project's full outbox drops only its own oldest click events and counts them", async () => {
  const webhook = await addWebhook(world, receiver.url);
  const project = await world.addProject();
  const other = await addWebhook({ ...world, project }, receiver.url);
  await fill("link.clicked", 15, project.id);
  await fill("install.matched", 5);
  await fill("link.clicked", 14);
  await tidy();
  expect(await find(webhook)).toMatchObject({ waiting: 19, dropped: 0 });
  await fill("install.matched", 1);
  await create("spring");
  await tidy();
  const left = (await listEvents()).filter(({ webhook_id }) => webhook_id === webhook.id);
  expect(left.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(20_000_000);
  expect(left.filter(({ event }) => event === "install.matched")).toHaveLength(6);
  expect(left.filter(({ event }) => event === "link.created")).toHaveLength(1);
  const clicked = left.filter(({ event }) => event === "link.clicked");
  const dropped = 14 - clicked.length;
  expect(dropped).toBeGreaterThan(0);
  expect(clicked.map(({ turn }) => turn)).toEqual(clicked.map((_, at) => at + dropped));
  expect(await find(webhook)).toMatchObject({ dropped, waiting: left.length });
  expect(await find(other)).toMatchObject({ dropped: 0, waiting: 15 });
});

test("a full outbox without click events drops each webhook's oldest events", async () => {
  const webhooks = [await addWebhook(world, receiver.url), await addWebhook(world, receiver.url)];
  await fill("install.matched", 15);
  await tidy();
  const left = await listEvents();
  expect(left.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(20_000_000);
  for (const webhook of webhooks) {
    const own = left.filter(({ webhook_id }) => webhook_id === webhook.id);
    expect(own.at(-1)).toMatchObject({ turn: 14 });
    expect((await find(webhook))?.dropped).toBe(15 - own.length);
  }
});
