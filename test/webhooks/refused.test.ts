import { describe, expect, test } from "vitest";
import { tellOfClicks } from "../../src/store/link-events.ts";
import { readTally } from "../../src/store/project-tallies.ts";
import { findWebhook, type OwnWebhook } from "../../src/store/webhooks.ts";
import { refuse, take, type Answer, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** Messages that are refused for what they say, beside receivers that are away. */

const second_ms = 1000;
const minute_ms = 60 * second_ms;

let receiver: TestReceiver;
let world: World;

const { create } = openWithReceiver((opened) => ({ world, receiver } = opened));

const look = (webhook: OwnWebhook) => findWebhook(world.store.db, webhook);
const paths = () => receiver.received.map(({ body }) => String(body.data.link.path));
const refuseBad =
  (status: number): Answer =>
  (response, { body }) =>
    void response.writeHead(String(body.data.link.path).startsWith("bad") ? status : 204).end();

/** Good ones come about all the time; answers how often each of the bad ones was tried. */
async function tellForTenMinutes(deliverDue: () => Promise<void>): Promise<readonly number[]> {
  for (let second = 0; second < 600; second += 10) {
    world.advance(10 * second_ms);
    await create(`good-${second}`);
    await deliverDue();
  }
  const bad = new Set(paths().filter((path) => path.startsWith("bad")));
  return [...bad].map((path) => paths().filter((tried) => tried === path).length);
}

describe("what is refused while others are taken", () => {
  test.each([
    [1, 422, 6],
    [3, 422, 6],
    [3, 500, 6],
    [8, 422, 9],
  ])("waits longer and longer, however many there are: %d with %d", async (count, status, most) => {
    await addWebhook(world, receiver.url, ["link.created"]);
    for (let bad = 0; bad < count; bad += 1) await create(`bad-${bad}`);
    receiver.doing(refuseBad(status));
    const tried = await tellForTenMinutes(deliverIn(world).deliverDue);
    expect(tried).toHaveLength(count);
    expect(Math.max(...tried)).toBeLessThanOrEqual(most);
  });

  test.each([30, 400])(
    "keeps no other back for longer than a minute or two, however many there are: %d",
    async (count) => {
      await addWebhook(world, receiver.url, ["link.created"]);
      for (let bad = 0; bad < count; bad += 1) await create(`bad-${bad}`);
      receiver.doing(refuseBad(422));
      const { deliverDue } = deliverIn(world);
      await deliverDue();
      await create("good");
      for (const passed_ms of [minute_ms, minute_ms]) {
        world.advance(passed_ms);
        await deliverDue();
      }
      expect(paths()).toContain("good");
    },
  );

  test("keeps none back for ever that came about amid hundreds of them", async () => {
    await addWebhook(world, receiver.url, ["link.created"]);
    const count = 230;
    for (let bad = 0; bad < count; bad += 1) await create(`bad-before-${bad}`);
    await create("good");
    for (let bad = 0; bad < count; bad += 1) await create(`bad-after-${bad}`);
    receiver.doing(refuseBad(422));
    const { deliverDue } = deliverIn(world);
    for (let minute = 0; minute <= 3 * count + 5; minute += 1) {
      await deliverDue();
      world.advance(minute_ms);
    }
    expect(paths()).toContain("good");
  });

  test("keeps none back for ever where another comes about each minute", async () => {
    await addWebhook(world, receiver.url, ["link.created"]);
    for (let bad = 0; bad < 12; bad += 1) await create(`bad-first-${bad}`);
    receiver.doing(refuseBad(422));
    const { deliverDue } = deliverIn(world);
    await deliverDue();
    await create("good");
    for (let minute = 0; minute < 60; minute += 1) {
      await create(`bad-${minute}`);
      world.advance(minute_ms);
      await deliverDue();
    }
    expect(paths()).toContain("good");
  });

  test("waits on, with what comes after it, when a receiver that was away is back", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.created", "link.updated"]);
    const bad = await create("bad");
    receiver.doing(refuseBad(422));
    const { deliverDue } = deliverIn(world);
    for (const wait_s of [0, 6, 16, 46, 140]) {
      world.advance(wait_s * second_ms);
      await create(`taken-${wait_s}`);
      await deliverDue();
    }
    await world.call("PATCH", `/links/${bad}`, { body: { name: "later" } });
    await deliverDue();
    receiver.doing(refuse);
    for (const path of ["one", "two", "three", "four"]) await create(path);
    await deliverDue();
    receiver.doing(refuseBad(422));
    receiver.received.length = 0;
    world.advance(2 * minute_ms);
    await deliverDue();
    expect(new Set(paths())).toEqual(new Set(["one", "two", "three", "four"]));
    expect(await look(webhook)).toMatchObject({ waiting: 2, failing_since: null });
  });
});

async function countHeld(db: typeof world.store.db): Promise<number> {
  const held = db.selectFrom("deliveries").select("event_id").where("next_at", ">", world.now());
  return (await held.execute()).length;
}

/** The rows of each statement that changed deliveries. */
function watchWrites() {
  const written: number[] = [];
  const write: typeof world.store.write = (work, options) =>
    world.store.write(async (db) => {
      const before = await countHeld(db);
      const value = await work(db);
      written.push(Math.abs((await countHeld(db)) - before));
      return value;
    }, options);
  return { written, store: { ...world.store, write } };
}

describe("a long row of what is about the same", () => {
  const count = 1100;

  async function noteClicks(): Promise<void> {
    await world.store.write(async (db) => {
      const tenant = { db, projectId: world.project.id };
      const tally = await readTally(tenant);
      for (let batch = 0; batch < count; batch += 1) {
        const counted = [{ linkId: "link", clicks: batch + 1 }];
        await tellOfClicks(tenant, tally, counted, world.now());
      }
    });
  }

  test("is held back and let go a thousand at a time", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.clicked", "link.created"]);
    await noteClicks();
    receiver.doing(refuse);
    const { written, store } = watchWrites();
    const { deliverDue } = deliverIn(world, { store });
    for (const path of ["one", "two", "three"]) await create(path);
    await deliverDue();
    world.advance(4 * minute_ms);
    await deliverDue();
    receiver.doing(take);
    world.advance(2 * second_ms);
    for (let turn = 0; turn < 3; turn += 1) {
      world.advance(minute_ms);
      await deliverDue();
    }
    expect(await look(webhook)).toMatchObject({ waiting: 0, dead: 0 });
    expect(receiver.received.length).toBeGreaterThanOrEqual(count + 3);
    expect(Math.max(...written)).toBeGreaterThan(0);
    expect(Math.max(...written)).toBeLessThanOrEqual(1000);
  });
});
