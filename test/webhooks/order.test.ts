import { expect, test } from "vitest";
import { sendAgain } from "../../src/store/deliveries.ts";
import { tellOf } from "../../src/store/outbox.ts";
import { take, type Answer, type Received, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** What is told of one link, by events of its own and by those that tell of many at once. */

const minute_ms = 60_000;

let receiver: TestReceiver;
let world: World;

const { create, rename, click } = openWithReceiver((opened) => ({ world, receiver } = opened));

const remove = (id: string) => world.call("DELETE", `/links/${id}`);

const isAbout = ({ body }: Received, id: string): boolean =>
  body.type === "link.clicked"
    ? body.data.links.some((link: { readonly id: string }) => link.id === id)
    : body.data.link.id === id;
const listAbout = (id: string) =>
  receiver.received.filter((one) => isAbout(one, id)).map(({ body }) => body.type);

const beAway: Answer = (response) => void response.writeHead(503).end();

/** Of a receiver that is away; answers what delivers to it from then on. */
async function askForHalfAnHour(): Promise<() => Promise<void>> {
  receiver.doing(beAway);
  const { deliverDue } = deliverIn(world);
  for (let minute = 0; minute < 30; minute += 1) {
    await deliverDue();
    world.advance(minute_ms);
  }
  return deliverDue;
}

test("its clicks come after what came before them, and before what came later", async () => {
  await addWebhook(world, receiver.url);
  const [one, other] = [await create("one"), await create("other")];
  await click(one);
  await rename(one, "changed");
  await click(other, one);
  await remove(one);
  await rename(other, "changed");
  const unanswered = new Set<Received>();
  const overlaps: string[] = [];
  receiver.doing((response, received) => {
    for (const id of [one, other]) {
      if (!isAbout(received, id)) continue;
      const before = [...unanswered].find((open) => isAbout(open, id));
      if (before !== undefined) overlaps.push(`${received.body.type} in ${before.body.type}`);
    }
    unanswered.add(received);
    setTimeout(() => {
      unanswered.delete(received);
      response.writeHead(204).end();
    }, 20);
  });
  await deliverIn(world).deliverDue();
  expect(overlaps).toEqual([]);
  expect(listAbout(one)).toEqual([
    "link.created",
    "link.clicked",
    "link.updated",
    "link.clicked",
    "link.deleted",
  ]);
  expect(listAbout(other)).toEqual(["link.created", "link.clicked", "link.updated"]);
});

test("clicks wait for no refused event of one of their links", async () => {
  await addWebhook(world, receiver.url);
  const [one, other] = [await create("one"), await create("other")];
  receiver.doing((response, { body }) => {
    response.writeHead(body.data.link?.path === "one" ? 422 : 204).end();
  });
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  await click(one, other);
  await rename(other, "changed");
  await rename(one, "changed");
  await deliverDue();
  expect(listAbout(one)).toEqual(["link.created", "link.clicked"]);
  expect(listAbout(other)).toEqual(["link.created", "link.clicked", "link.updated"]);
  receiver.doing(take);
  world.advance(minute_ms);
  await deliverDue();
  expect(listAbout(one).slice(2)).toEqual(["link.created", "link.updated"]);
});

test("a receiver that was away is told of a link in its order, its clicks among it", async () => {
  await addWebhook(world, receiver.url);
  const links = [];
  for (let link = 0; link < 12; link += 1) links.push(await create(`link-${link}`));
  receiver.doing(beAway);
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  for (const id of links) await click(id);
  for (const id of links) await remove(id);
  receiver.doing(take);
  receiver.received.length = 0;
  world.advance(10 * minute_ms);
  await deliverDue();
  for (const id of links) {
    expect(listAbout(id)).toEqual(["link.created", "link.clicked", "link.deleted"]);
  }
});

test("a receiver that is away is asked for no link's later event first, of hundreds", async () => {
  await addWebhook(world, receiver.url, ["link.created", "link.updated"]);
  const links = [];
  for (let link = 0; link < 210; link += 1) links.push(await create(`link-${link}`));
  for (const id of links) await rename(id, "changed");
  const deliverDue = await askForHalfAnHour();
  expect(new Set(receiver.told())).toEqual(new Set(["link.created"]));
  receiver.doing(take);
  receiver.received.length = 0;
  await deliverDue();
  for (const id of links) {
    expect(listAbout(id)).toEqual(["link.created", "link.updated"]);
  }
});

test("the first of a long row of clicks is what a receiver that is away is asked for", async () => {
  await addWebhook(world, receiver.url, ["link.clicked"]);
  for (let batch = 0; batch < 250; batch += 1) await click(`link-${batch}`);
  const deliverDue = await askForHalfAnHour();
  receiver.doing(take);
  world.advance(3 * 60 * minute_ms);
  await deliverDue();
  const told = receiver.received.map(({ body }) => body.data.links[0].id);
  const clicked = Array.from({ length: 250 }, (_, batch) => `link-${batch}`);
  expect([...new Set(told)]).toEqual(clicked);
});

/** Whoever refuses the first ones is away. */
const renameOthers = async () => {
  for (let link = 0; link < 16; link += 1) await rename(await create(`other-${link}`), "changed");
};

/** What is asked of a link, one event a minute, of a receiver that is away. */
async function listAsked(id: string): Promise<readonly string[]> {
  receiver.doing(beAway);
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  receiver.received.length = 0;
  for (let minute = 0; minute < 10; minute += 1) {
    world.advance(minute_ms);
    await deliverDue();
  }
  return listAbout(id);
}

test.each([1, 250])("it is asked for a link's clicks before what came later: %d", async (count) => {
  await addWebhook(world, receiver.url, ["link.clicked", "link.updated"]);
  await renameOthers();
  const [one, other] = [await create("one"), await create("two")];
  await click(one);
  for (let batch = 1; batch < count; batch += 1) await click(other);
  await rename(one, "changed");
  expect((await listAsked(one))[0]).toBe("link.clicked");
});

test("it is asked for what came before a link's clicks first", async () => {
  await addWebhook(world, receiver.url, ["link.clicked", "link.updated"]);
  await renameOthers();
  const id = await create("one");
  await rename(id, "changed");
  await click(id);
  expect((await listAsked(id))[0]).toBe("link.updated");
});

test("it is asked by turns for the latest of a link that nobody has clicked", async () => {
  await addWebhook(world, receiver.url, ["link.clicked", "link.updated"]);
  await renameOthers();
  const [one, other] = [await create("one"), await create("two")];
  await click(other);
  await rename(one, "changed");
  await listAsked(one);
  expect(receiver.received.slice(0, 4).some((first) => isAbout(first, one))).toBe(true);
});

test("of what came about at once it is asked by turns for the last that was told", async () => {
  await addWebhook(world, receiver.url, ["link.updated"]);
  const ids = Array.from({ length: 26 }, (_, part) => `link-${String.fromCodePoint(97 + part)}`);
  await world.store.write(async (db) => {
    const told = ids.map((id) => ({
      event: "link.updated" as const,
      subject: id,
      data: { link: { id } },
    }));
    await tellOf({ db, projectId: world.project.id }, told, world.now());
  });
  await listAsked("");
  const asked = receiver.received.slice(0, 4).map(({ body }) => body.data.link.id);
  expect(asked).toEqual(expect.arrayContaining(["link-y", "link-z"]));
});

test("clicks that are sent again go at once, though more of the same moment wait", async () => {
  const webhook = await addWebhook(world, receiver.url, ["link.clicked", "link.updated"]);
  const link = await create("link");
  receiver.doing((response, { body }) => {
    response.writeHead(body.type === "link.clicked" ? 422 : 204).end();
  });
  const { deliverDue } = deliverIn(world);
  // More links than one message tells of.
  await click(...Array.from({ length: 501 }, (_, index) => `link-${index}`));
  const list = world.store.db.selectFrom("deliveries").select(["state", "next_at", "attempts"]);
  const look = async () => {
    const rows = await list.where("event", "=", "link.clicked").execute();
    const isDead = rows.some(({ state }) => state === "dead");
    const isLater = rows.some(({ state, attempts, next_at }) => {
      return state === "waiting" && attempts > 0 && next_at > world.now() + minute_ms;
    });
    return { isDead, isLater };
  };
  // The first is given up, and the second waits; other events are taken, so that nobody is away.
  for (let seen = await look(); !(seen.isDead && seen.isLater); seen = await look()) {
    world.advance(seen.isDead ? minute_ms / 2 : 60 * minute_ms);
    await deliverDue();
    await rename(link, `name-${world.now()}`);
    await deliverDue();
  }
  receiver.doing(take);
  receiver.received.length = 0;
  await world.store.write((db) => sendAgain(db, webhook, undefined, world.now()));
  await deliverDue();
  expect(receiver.received.map(({ body }) => body.data.links.length)).toEqual([500]);
});
