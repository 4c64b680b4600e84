import { expect, test } from "vitest";
import { findWebhook } from "../../src/store/webhooks.ts";
import { refuse, take, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** How soon a receiver is noticed to be back, of which nothing that waits is due for hours. */

const minute_ms = 60_000;
const away_minutes = 6 * 60;

let receiver: TestReceiver;
let world: World;

const { create, rename } = openWithReceiver((opened) => ({ world, receiver } = opened));

/** Delivers once a minute, or each few minutes, and does something before. */
async function pass(
  minutes: number,
  deliverDue: () => Promise<void>,
  before: (minute: number) => Promise<unknown> = () => Promise.resolve(),
  step = 1,
): Promise<void> {
  for (let minute = 0; minute < minutes; minute += step) {
    await before(minute);
    await deliverDue();
    world.advance(step * minute_ms);
  }
}

test.each([1, 5])("one that was away for hours is within ten minutes: %d wait", async (count) => {
  const webhook = await addWebhook(world, receiver.url);
  const ids: string[] = [];
  for (let link = 0; link < count; link += 1) ids.push(await create(`link-${link}`));
  for (const id of ids) await rename(id, "changed");
  receiver.doing(refuse);
  const { deliverDue } = deliverIn(world);
  await pass(away_minutes, deliverDue);
  receiver.doing(take);
  receiver.received.length = 0;
  await pass(11, deliverDue);
  for (const id of ids) {
    const told = receiver.received.filter(({ body }) => body.data.link.id === id);
    expect(told.map(({ body }) => body.type)).toEqual(["link.created", "link.updated"]);
  }
  expect(await findWebhook(world.store.db, webhook)).toMatchObject({
    waiting: 0,
    failing_since: null,
  });
});

test("one that is away is asked every ten minutes, whatever comes about behind", async () => {
  await addWebhook(world, receiver.url);
  const id = await create("link");
  receiver.doing(refuse);
  const { deliverDue } = deliverIn(world);
  await pass(away_minutes, deliverDue, (minute) => rename(id, `name-${minute}`));
  // The first ones by the event's own times.
  expect(receiver.received.length).toBeLessThanOrEqual(away_minutes / 10 + 6);
  expect(new Set(receiver.told())).toEqual(new Set(["link.created"]));
});

test("an event that is asked for early is given up no sooner than after its day", async () => {
  const webhook = await addWebhook(world, receiver.url);
  await create("link");
  receiver.doing(refuse);
  const { deliverDue } = deliverIn(world);
  await pass(24 * 60, deliverDue, undefined, 5);
  const look = () => findWebhook(world.store.db, webhook);
  expect(await look()).toMatchObject({ waiting: 1, dead: 0 });
  await pass(11, deliverDue);
  expect(await look()).toMatchObject({ waiting: 0, dead: 1 });
});

test("an event that is refused while others are taken is asked for by its own times", async () => {
  await addWebhook(world, receiver.url, ["link.created"]);
  await create("bad");
  receiver.doing((response, { body }) => {
    response.writeHead(body.data.link.path === "bad" ? 422 : 204).end();
  });
  const { deliverDue } = deliverIn(world);
  await pass(180, deliverDue, (minute) => create(`good-${minute}`));
  receiver.received.length = 0;
  await pass(100, deliverDue);
  expect(receiver.received).toHaveLength(1);
});

test("what waits behind an event that is taken early follows at once", async () => {
  await addWebhook(world, receiver.url, ["link.created", "link.updated"]);
  receiver.doing((response, { body }) => {
    response.writeHead(String(body.data.link.path).startsWith("bad") ? 422 : 204).end();
  });
  const { deliverDue } = deliverIn(world);
  await pass(200, deliverDue, async (minute) => {
    await create(`good-${minute}`);
    if (minute < 30 && minute % 10 === 0) await rename(await create(`bad-${minute}`), "changed");
  });
  receiver.received.length = 0;
  // By their own times, and by that their receiver is away.
  while (receiver.received.length < 3) await pass(1, deliverDue);
  receiver.doing(take);
  receiver.received.length = 0;
  await pass(11, deliverDue);
  const first = receiver.received.slice(0, 2);
  expect(first.map(({ body }) => body.type)).toEqual(["link.created", "link.updated"]);
  expect(new Set(first.map(({ body }) => body.data.link.id)).size).toBe(1);
});
