import { expect, test } from "vitest";
import { refuse, type Received, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** A receiver that was away, and refuses some of what waits for it: the rest comes within a day. */

const minute_ms = 60_000;

let receiver: TestReceiver;
let world: World;

const { create, rename, click } = openWithReceiver((opened) => ({ world, receiver } = opened));

async function createAll(name: string, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let link = 0; link < count; link += 1) ids.push(await create(`${name}-${link}`));
  return ids;
}

const isOf =
  (event: string) =>
  ({ body }: Received): boolean =>
    body.type === event;

/** So many minutes after it is back it takes what is good; undefined is not within a day. */
async function waitFor(
  isGood: (message: Received) => boolean,
  away_minutes = 0,
): Promise<number | undefined> {
  const { deliverDue } = deliverIn(world);
  receiver.doing(refuse);
  for (let minute = 0; minute < 24 * 60; minute += 1) {
    if (minute === away_minutes) {
      receiver.received.length = 0;
      receiver.doing(
        (response, message) => void response.writeHead(isGood(message) ? 204 : 422).end(),
      );
    }
    await deliverDue();
    if (minute >= away_minutes && receiver.received.some(isGood)) return minute - away_minutes;
    world.advance(minute_ms);
  }
  return undefined;
}

test("what was never asked for is, after hundreds that are refused", async () => {
  const old = await createAll("old", 210);
  await addWebhook(world, receiver.url);
  const [bad = ""] = await createAll("bad", 130);
  await click(bad);
  for (const id of old) await rename(id, "changed");
  expect(await waitFor(isOf("link.updated"), 200)).toBeLessThan(30);
});

test("a long row of events behind one that is refused keeps no other back", async () => {
  const old = await createAll("old", 20);
  await addWebhook(world, receiver.url);
  await createAll("bad", 100);
  const row = await create("bad-with-row");
  for (let turn = 0; turn < 250; turn += 1) await rename(row, `name-${turn}`);
  for (const id of old) await rename(id, "changed");
  const isGood = ({ body }: Received) => old.includes(body.data.link?.id);
  expect(await waitFor(isGood, 150)).toBeLessThan(60);
});

test("clicks come within the day, though other events of their links are refused", async () => {
  const links = await createAll("link", 100);
  await addWebhook(world, receiver.url, ["link.updated", "link.clicked"]);
  for (const id of links) await rename(id, "changed");
  await click(...links);
  expect(await waitFor(isOf("link.clicked"))).toBeLessThan(12 * 60);
});
