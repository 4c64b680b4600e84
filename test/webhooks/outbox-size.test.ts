import { expect, test } from "vitest";
import { queueEvents, tidyOutboxes, type NewEvent } from "../../src/store/webhooks.ts";
import type { TestReceiver } from "../support/receiver.ts";
import { addWebhook, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** The events of a project use at most 20 MB. */

let receiver: TestReceiver;
let world: World;
const { create, find } = openWithReceiver((opened) => ({ world, receiver } = opened));

const megabyte = "x".repeat(1_000_000);

/** Queues events of a little more than a megabyte each, one after another. */
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

test("a full outbox drops its oldest click events, counts them, and keeps the others", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await fill("install.matched", 5);
  await fill("link.clicked", 14);
  await tidy();
  expect(await listEvents()).toHaveLength(19);
  await fill("install.matched", 1);
  await create("spring");
  await tidy();
  const left = await listEvents();
  expect(left.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(20_000_000);
  expect(left.filter(({ event }) => event === "install.matched")).toHaveLength(6);
  expect(left.filter(({ event }) => event === "link.created")).toHaveLength(1);
  const clicked = left.filter(({ event }) => event === "link.clicked");
  const dropped = 14 - clicked.length;
  expect(dropped).toBeGreaterThan(0);
  expect(clicked.map(({ turn }) => turn)).toEqual(clicked.map((_, at) => at + dropped));
  expect(await find(webhook)).toMatchObject({ dropped });
});

test("without click events, a full outbox drops the oldest others of each webhook", async () => {
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

test("a full outbox of one project drops nothing of another", async () => {
  const webhook = await addWebhook(world, receiver.url);
  const project = await world.addProject();
  const other = await addWebhook({ store: world.store, project }, receiver.url);
  await fill("link.clicked", 15, project.id);
  await fill("link.clicked", 21);
  await tidy();
  const left = (await listEvents()).filter(({ webhook_id }) => webhook_id === webhook.id);
  expect(await find(webhook)).toMatchObject({ dropped: 21 - left.length, waiting: left.length });
  expect(left.length).toBeLessThan(20);
  expect(await find(other)).toMatchObject({ dropped: 0, waiting: 15 });
});
