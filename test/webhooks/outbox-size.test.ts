import { expect, test } from "vitest";
import { countDeliveries, listDueDeliveries, noteDelivered } from "../../src/store/deliveries.ts";
import { tellOf, type Told } from "../../src/store/outbox.ts";
import { findWebhook, listWebhooks, type OwnWebhook } from "../../src/store/webhooks.ts";
import type { TestReceiver } from "../support/receiver.ts";
import { addWebhook, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** The events of a project that wait for its webhooks take 20 MB at most. */

let receiver: TestReceiver;
let world: World;
openWithReceiver((opened) => ({ world, receiver } = opened));

const megabyte = "x".repeat(1_000_000);

/** Queues events of a little more than a megabyte each, one after another. */
async function fill(event: Told["event"], count: number, projectId = world.project.id) {
  for (let turn = 0; turn < count; turn += 1) {
    const told = { event, data: { turn, filler: megabyte } };
    await world.store.write((db) => tellOf({ db, projectId }, [told], world.now()));
    world.advance(1);
  }
}

async function listLeft() {
  const { db } = world.store;
  const left = db.selectFrom("deliveries").select(["event", "body", "webhook_id"]);
  const rows = await left.orderBy("created_at").execute();
  return rows.map(({ event, body, webhook_id }) => {
    // Only the first bytes tell one event from another.
    const turn = Number(/"turn":(\d+)/.exec(body.slice(0, 200))?.[1] ?? -1);
    return { event, webhook_id, bytes: Buffer.byteLength(body), turn };
  });
}

/** Removes all events as their delivery does; the test's receiver takes no megabytes. */
async function deliverAll(webhook: OwnWebhook): Promise<void> {
  const { store, now } = world;
  const due = await listDueDeliveries(store.db, webhook, now(), 100);
  for (const one of due) await store.write((db) => noteDelivered(db, webhook, one, now()));
}

test("a full outbox drops and counts its oldest click events, and keeps the others", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await fill("install.matched", 5);
  await fill("link.clicked", 14);
  expect(await listLeft()).toHaveLength(19);
  await fill("install.matched", 1);
  await world.call("POST", "/links", { body: { path: "spring" } });
  const left = await listLeft();
  expect(left.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(20_000_000);
  expect(left.filter(({ event }) => event === "install.matched")).toHaveLength(6);
  expect(left.filter(({ event }) => event === "link.created")).toHaveLength(1);
  const clicked = left.filter(({ event }) => event === "link.clicked");
  const dropped = 14 - clicked.length;
  expect(dropped).toBeGreaterThan(0);
  expect(clicked.map(({ turn }) => turn)).toEqual(clicked.map((_, at) => at + dropped));
  expect(await findWebhook(world.store.db, webhook)).toMatchObject({ dropped });
  expect(await countDeliveries(world.store.db)).toMatchObject({ dropped });
});

test("without click events the oldest of the others are dropped, whoever wrote them", async () => {
  const [one, other] = [
    await addWebhook(world, receiver.url),
    await addWebhook(world, receiver.url),
  ];
  await fill("install.matched", 30);
  const left = await listLeft();
  expect(left.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(20_000_000);
  // Each webhook has its latest, and what it lost is counted at each.
  for (const { id } of [one, other]) {
    const own = left.filter(({ webhook_id }) => webhook_id === id);
    expect(own.at(-1)).toMatchObject({ turn: 29 });
    const webhook = (await listWebhooks(world.store.db)).find((each) => each.id === id);
    expect(webhook?.dropped).toBe(30 - own.length);
  }
});

test("what was delivered makes room, and each project has its own 20 MB", async () => {
  const webhook = await addWebhook(world, receiver.url);
  const project = await world.addProject();
  const foreign = await addWebhook({ store: world.store, project }, receiver.url);
  await fill("link.clicked", 15, project.id);
  for (let turn = 0; turn < 3; turn += 1) {
    await fill("link.clicked", 15);
    if (turn < 2) await deliverAll(webhook);
  }
  expect(await findWebhook(world.store.db, webhook)).toMatchObject({ dropped: 0, waiting: 15 });
  expect(await findWebhook(world.store.db, foreign)).toMatchObject({ dropped: 0 });
});
