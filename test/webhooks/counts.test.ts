import { expect, test } from "vitest";
import { countDeliveries, findOverdue } from "../../src/store/deliveries.ts";
import { refuse, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** What operators are told of deliveries, on either engine. */

const hour_ms = 60 * 60_000;

let receiver: TestReceiver;
let world: World;

openWithReceiver((opened) => ({ world, receiver } = opened));

test("attempts are counted by what came of them, and events by where they stand", async () => {
  const { db } = world.store;
  const webhook = await addWebhook(world, receiver.url, ["link.created"]);
  await world.call("POST", "/links", { body: { path: "one" } });
  const { deliverDue, measure } = deliverIn(world);
  expect(await countDeliveries(db)).toEqual({ waiting: 1, given_up: 0, dropped: 0 });
  await deliverDue();
  expect(measure()).toEqual({ delivered: 1, failed: 0, given_up: 0 });
  receiver.doing(refuse);
  await world.call("POST", "/links", { body: { path: "two" } });
  await deliverDue();
  expect(measure()).toEqual({ delivered: 1, failed: 1, given_up: 0 });
  expect(await countDeliveries(db)).toEqual({ waiting: 1, given_up: 0, dropped: 0 });

  const made = world.now();
  expect(await findOverdue(db, webhook, made)).toBeUndefined();
  world.advance(hour_ms);
  expect(await findOverdue(db, webhook, world.now())).toBe(made);
  for (let hour = 0; hour < 25; hour += 1) {
    await deliverDue();
    world.advance(hour_ms);
  }
  expect(measure()).toMatchObject({ delivered: 1, given_up: 1 });
  expect(await countDeliveries(db)).toEqual({ waiting: 0, given_up: 1, dropped: 0 });
  expect(await findOverdue(db, webhook, world.now())).toBeUndefined();
});
