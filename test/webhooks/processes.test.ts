import { expect, test } from "vitest";
import { openStore, type Store } from "../../src/store/store.ts";
import { takeTurn } from "../../src/store/webhook-turns.ts";
import { findWebhook, type OwnWebhook } from "../../src/store/webhooks.ts";
import { neverRing } from "../support/alarms.ts";
import { createGate } from "../support/gate.ts";
import { hang, refuse, take, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** Many processes that deliver to the same webhooks. */

const second_ms = 1000;

let receiver: TestReceiver;
let world: World;

const { create } = openWithReceiver((opened) => ({ world, receiver } = opened));

const look = (webhook: OwnWebhook) => findWebhook(world.store.db, webhook);
const paths = () => receiver.received.map(({ body }) => body.data.link.path);

async function openOther(): Promise<Store> {
  return openStore(await world.openSql(), neverRing);
}

/** What another process delivers, which has looked, and writes nothing until it may go on. */
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

test("they deliver each message once, whoever looks first", async () => {
  await addWebhook(world, receiver.url, ["link.created"]);
  for (let count = 0; count < 20; count += 1) await create(`link-${count}`);
  const other = await openOther();
  const all = [deliverIn(world), deliverIn(world, { store: other }), deliverIn(world)];
  await Promise.all(all.map(({ deliverDue }) => deliverDue()));
  await other.close();
  expect(receiver.received).toHaveLength(20);
  expect(new Set(paths()).size).toBe(20);
});

test("a process does not ask a receiver that began to rest since it looked", async () => {
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

test("they go on for one that was killed, when its turn is over", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await create("spring");
  const now = world.now();
  const turn = { runner: "killed", now, until: now + 30 * second_ms, latest: now + 40_000 };
  expect(await world.store.write((db) => takeTurn(db, webhook, turn))).toBe(true);
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  expect(receiver.received).toHaveLength(0);
  world.advance(31 * second_ms);
  await deliverDue();
  expect(receiver.received).toHaveLength(1);
});

test("a machine some seconds behind does not take a turn that lasts", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await create("spring");
  const ahead = world.now() + 5 * second_ms;
  const turn = {
    runner: "ahead",
    now: ahead,
    until: ahead + 60 * second_ms,
    latest: ahead + 90 * second_ms,
  };
  expect(await world.store.write((db) => takeTurn(db, webhook, turn))).toBe(true);
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  expect(receiver.received).toHaveLength(0);
  // What lies further ahead was written before a clock was set back.
  await world.store.db
    .updateTable("webhooks")
    .set({ runs_until: ahead + 60 * second_ms + 1 })
    .execute();
  await deliverDue();
  expect(receiver.received).toHaveLength(1);
});

test("they stop after what is on the way, and leave the rest to others", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await create("spring");
  receiver.doing(hang);
  const stopped = deliverIn(world);
  const delivering = stopped.deliverDue();
  await receiver.untilReceived(1);
  const closing = stopped.close();
  world.advance(3 * second_ms);
  await Promise.all([closing, delivering]);
  // It counts as no failure of the receiver.
  expect(await look(webhook)).toMatchObject({ failing_since: null, waiting: 1 });
  receiver.doing(take);
  await deliverIn(world).deliverDue();
  expect(receiver.received).toHaveLength(2);
});
