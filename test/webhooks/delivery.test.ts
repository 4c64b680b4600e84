import { describe, expect, test } from "vitest";
import { openStore, type Store } from "../../src/store/store.ts";
import type { Db } from "../../src/store/tables.ts";
import {
  claimWebhook,
  deleteWebhook,
  saveAttempts,
  type WebhookKey,
} from "../../src/store/webhooks.ts";
import { neverRing, createGate, waitUntil } from "../support/clock.ts";
import { hang, refuse, startReceiver, take, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "./webhook-world.ts";
import type { World } from "../support/world.ts";

/** Tests how one or several processes deliver and retry events. */

const second_ms = 1000;
const hour_ms = 60 * 60 * second_ms;

let receiver: TestReceiver;
let world: World;

const { create, rename, find, suspend } = openWithReceiver(
  (opened) => ({ world, receiver } = opened),
);

const paths = () => receiver.received.map(({ body }) => body.data.link.path);
const names = () => receiver.received.map(({ body }) => body.data.link.name);

describe("a webhook message that could not be delivered", () => {
  test("is retried with a new timestamp after increasingly long waits", async () => {
    const webhook = await addWebhook(world, receiver.url);
    await create("spring");
    receiver.doing(refuse);
    const { deliverDue } = deliverIn(world);
    await deliverDue();
    expect(await find(webhook)).toMatchObject({ last_fault: "status 500", waiting: 1, dead: 0 });
    for (const wait_s of [5, 15, 45]) {
      const before = receiver.received.length;
      world.advance((wait_s - 1) * second_ms);
      await deliverDue();
      expect(receiver.received).toHaveLength(before);
      world.advance(2 * second_ms);
      await deliverDue();
      expect(receiver.received).toHaveLength(before + 1);
    }
    receiver.doing(take);
    world.advance(hour_ms);
    await deliverDue();
    expect(new Set(receiver.received.map(({ text }) => text)).size).toBe(1);
    const sent = receiver.received.map(({ headers }) => headers);
    expect(new Set(sent.map((headers) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(sent.map((headers) => headers["webhook-timestamp"])).size).toBe(sent.length);
    expect(await find(webhook)).toMatchObject({ last_fault: null, waiting: 0, dead: 0 });
  });
});

describe("a webhook event that keeps failing", () => {
  test("is retried without delaying later events of the same link", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.updated"]);
    const one = await create("one");
    receiver.doing((response, { body }) => {
      response.writeHead(body.data.link.name === "1" ? 500 : 204).end();
    });
    const { deliverDue } = deliverIn(world);
    for (const name of ["1", "2"]) await rename(one, name);
    await deliverDue();
    await rename(one, "3");
    await deliverDue();
    expect(new Set(names())).toEqual(new Set(["1", "2", "3"]));
    expect(await find(webhook)).toMatchObject({ waiting: 1, failing_since: null });
    receiver.doing(take);
    world.advance(10 * second_ms);
    await deliverDue();
    expect(names().at(-1)).toBe("1");
    expect(await find(webhook)).toMatchObject({ waiting: 0 });
  });
});

describe("a webhook receiver", () => {
  test("has ten seconds to respond and does not delay other receivers", async () => {
    await using stuck = await startReceiver(hang);
    const webhook = await addWebhook(world, stuck.url);
    await addWebhook(world, receiver.url);
    await create("spring");
    const { deliverDue, errors } = deliverIn(world);
    const delivering = [deliverDue()];
    await Promise.all([stuck.untilReceived(1), receiver.untilReceived(1)]);
    await create("later");
    await waitUntil(() => {
      delivering.push(deliverDue());
      return receiver.received.length === 2;
    });
    world.advance(10 * second_ms);
    await Promise.all(delivering);
    expect(await find(webhook)).toMatchObject({ last_fault: "the server did not respond in time" });
    expect(errors).toEqual([]);
  });

  test("is paused for a minute after ten failures in a row, then gets every event", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.created"]);
    receiver.doing(refuse);
    for (let count = 0; count < 30; count += 1) await create(`link-${count}`);
    const { deliverDue } = deliverIn(world);
    await deliverDue();
    const first = receiver.received.length;
    expect(first).toBeGreaterThanOrEqual(10);
    // The tenth message was sent together with others.
    expect(first).toBeLessThanOrEqual(17);
    world.advance(59 * second_ms);
    await deliverDue();
    expect(receiver.received).toHaveLength(first);
    receiver.doing(take);
    receiver.received.length = 0;
    world.advance(2 * second_ms);
    await deliverDue();
    expect(new Set(paths()).size).toBe(30);
    expect(await find(webhook)).toMatchObject({ waiting: 0, dead: 0, failing_since: null });
  });

  test("is not paused after nine failures in a row, and a success resets the count", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.created"]);
    const rests = async () => {
      const { db } = world.store;
      const query = db.selectFrom("webhooks").select(["next_at", "failures"]);
      return query.where("id", "=", webhook.id).executeTakeFirstOrThrow();
    };
    const { deliverDue } = deliverIn(world);
    const refuseAll = async (name: string, count: number) => {
      receiver.doing(refuse);
      for (let turn = 0; turn < count; turn += 1) {
        await create(`${name}-${turn}`);
        await deliverDue();
      }
    };
    await refuseAll("first", 9);
    expect(await rests()).toEqual({ next_at: 0, failures: 9 });
    receiver.doing(take);
    await create("taken");
    await deliverDue();
    expect(await rests()).toEqual({ next_at: 0, failures: 0 });
    await refuseAll("second", 10);
    expect(await rests()).toEqual({ next_at: world.now() + 60 * second_ms, failures: 10 });
  });
});

const eventsAtOnce = 8;

/** Queues three batches, and runs `act` while the receiver holds back the answers to the first. */
async function actWithinBatches(act: (webhook: WebhookKey) => Promise<unknown>) {
  const webhook = await addWebhook(world, receiver.url, ["link.created"]);
  for (let link = 0; link < 3 * eventsAtOnce; link += 1) await create(`link-${link}`);
  const answers: (() => void)[] = [];
  receiver.doing((response) => {
    answers.push(() => void response.writeHead(204).end());
    if (answers.length !== eventsAtOnce) return;
    void act(webhook).then(() => answers.forEach((send) => send()));
  });
  const { deliverDue, errors } = deliverIn(world);
  return { webhook, deliverDue, errors };
}

test("a revoked webhook receives only events that are already being sent", async () => {
  const { store, project } = world;
  const revoked: boolean[] = [];
  const { deliverDue, errors } = await actWithinBatches(async ({ id }) => {
    const revoke = () => store.write((db) => deleteWebhook({ db, projectId: project.id }, id));
    revoked.push(await revoke(), await revoke());
  });
  await deliverDue();
  await create("after");
  await deliverDue();
  expect([receiver.received.length, errors, revoked]).toEqual([eventsAtOnce, [], [true, false]]);
  expect(await store.db.selectFrom("deliveries").select("event_id").execute()).toEqual([]);
});

test("a suspended project's events are held until the suspension ends, even for days", async () => {
  const { webhook, deliverDue } = await actWithinBatches(() => suspend(1));
  await deliverDue();
  world.advance(48 * hour_ms);
  await deliverDue();
  expect(receiver.received).toHaveLength(eventsAtOnce);
  expect(await find(webhook)).toMatchObject({ waiting: 2 * eventsAtOnce, dead: 0 });
  receiver.doing(take);
  await suspend(0);
  await deliverDue();
  expect(receiver.received).toHaveLength(3 * eventsAtOnce);
});

/** Starts another process that has listed the due webhooks but not claimed them yet. */
async function deliverLate() {
  const hasLooked = createGate();
  const mayGoOn = createGate();
  const write: Store["write"] = async (work, options) => {
    hasLooked.open();
    await mayGoOn.opened;
    return world.store.write(work, options);
  };
  const late = deliverIn(world, { store: { ...world.store, write } }).deliverDue();
  await hasLooked.opened;
  return { late, goOn: mayGoOn.open };
}

test("three processes deliver each message only once", async () => {
  await addWebhook(world, receiver.url, ["link.created"]);
  for (let count = 0; count < 20; count += 1) await create(`link-${count}`);
  const other = await openStore(await world.openSql(), neverRing);
  const all = [deliverIn(world), deliverIn(world, { store: other }), deliverIn(world)];
  await Promise.all(all.map(({ deliverDue }) => deliverDue()));
  await other.close();
  expect(receiver.received).toHaveLength(20);
  expect(new Set(paths()).size).toBe(20);
});

test("a process sends nothing to a receiver that another process has just paused", async () => {
  await addWebhook(world, receiver.url, ["link.created"]);
  receiver.doing(refuse);
  for (let count = 0; count < 12; count += 1) await create(`link-${count}`);
  const { late, goOn } = await deliverLate();
  await deliverIn(world).deliverDue();
  receiver.received.length = 0;
  goOn();
  await late;
  expect(receiver.received).toEqual([]);
});

test("events claimed by a killed process are sent after the claim expires", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await create("spring");
  const claim = (db: Db) => claimWebhook(db, webhook, world.now(), 1);
  expect(await world.store.write(claim)).toBeDefined();
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  expect(receiver.received).toHaveLength(0);
  world.advance(31 * second_ms);
  await deliverDue();
  expect(receiver.received).toHaveLength(1);
});

test("a process whose claim has expired does not release another process's claim", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await create("spring");
  const { store } = world;
  const claim = () => store.write((db) => claimWebhook(db, webhook, world.now(), 1));
  const slow = await claim();
  if (slow === undefined) throw new Error("the webhook could not be claimed");
  world.advance(31 * second_ms);
  expect(await claim()).toBeDefined();
  await store.write((db) => saveAttempts(db, slow.webhook, [], world.now()));
  expect(await claim()).toBeUndefined();
});

test("a process that shuts down leaves its undelivered events to other processes", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await create("spring");
  receiver.doing(hang);
  const stopped = deliverIn(world);
  const delivering = stopped.deliverDue();
  await receiver.untilReceived(1);
  const closing = stopped.close();
  world.advance(3 * second_ms);
  await Promise.all([closing, delivering]);
  // An interrupted attempt is not a failure of the receiver.
  expect(await find(webhook)).toMatchObject({ failing_since: null, waiting: 1 });
  receiver.doing(take);
  await deliverIn(world).deliverDue();
  expect(receiver.received).toHaveLength(2);
});
