import { expect, test } from "vitest";
import { claimWebhook } from "../../src/store/webhooks.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import type { Db } from "../../src/store/tables.ts";
import { neverRing } from "../support/alarms.ts";
import { createGate } from "../support/gate.ts";
import { hang, refuse, take, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** Several processes that deliver to the same webhooks. */

const second_ms = 1000;

let receiver: TestReceiver;
let world: World;

const { create, find } = openWithReceiver((opened) => ({ world, receiver } = opened));

const paths = () => receiver.received.map(({ body }) => body.data.link.path);

async function openOther(): Promise<Store> {
  return openStore(await world.openSql(), neverRing);
}

/** Another process that has listed the due webhooks, and waits before it claims them. */
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

test("three processes deliver each message once", async () => {
  await addWebhook(world, receiver.url, ["link.created"]);
  for (let count = 0; count < 20; count += 1) await create(`link-${count}`);
  const other = await openOther();
  const all = [deliverIn(world), deliverIn(world, { store: other }), deliverIn(world)];
  await Promise.all(all.map(({ deliverDue }) => deliverDue()));
  await other.close();
  expect(receiver.received).toHaveLength(20);
  expect(new Set(paths()).size).toBe(20);
});

test("a process sends nothing to a receiver that rests since the process listed it", async () => {
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

test("a process sends the events of a killed one when that one's claim ends", async () => {
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

test("a process that stops leaves the events it could not finish to others", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await create("spring");
  receiver.doing(hang);
  const stopped = deliverIn(world);
  const delivering = stopped.deliverDue();
  await receiver.untilReceived(1);
  const closing = stopped.close();
  world.advance(3 * second_ms);
  await Promise.all([closing, delivering]);
  // An interrupted attempt is no failure of the receiver.
  expect(await find(webhook)).toMatchObject({ failing_since: null, waiting: 1 });
  receiver.doing(take);
  await deliverIn(world).deliverDue();
  expect(receiver.received).toHaveLength(2);
});
