import { beforeEach, describe, expect, test } from "vitest";
import { reachReceivers } from "../../src/webhooks/reach.ts";
import { listDead, sendAgain } from "../../src/store/deliveries.ts";
import { findWebhook, type OwnWebhook } from "../../src/store/webhooks.ts";
import { hang, refuse, startReceiver, take, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, loopback, openWithReceiver } from "../support/webhook-world.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { World } from "../support/world.ts";

/** How messages arrive, or do not: again, in order, at the right place, by one process at once. */

const second_ms = 1000;
const hour_ms = 60 * 60 * second_ms;

let receiver: TestReceiver;
let world: World;

const { create, rename } = openWithReceiver((opened) => ({ world, receiver } = opened));

const look = (webhook: OwnWebhook) => findWebhook(world.store.db, webhook);
const paths = () => receiver.received.map(({ body }) => body.data.link.path);
const names = () => receiver.received.map(({ body }) => body.data.link.name);

/** A link of whose making nobody has taken the news in a day. */
async function giveUp(path: string) {
  const webhook = await addWebhook(world, receiver.url);
  await create(path);
  receiver.doing(refuse);
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  world.advance(25 * hour_ms);
  await deliverDue();
  return { webhook, deliverDue };
}

describe("a message that was not taken", () => {
  test("is sent again, the same with a new time, later and later", async () => {
    const webhook = await addWebhook(world, receiver.url);
    await create("spring");
    receiver.doing(refuse);
    const { deliverDue } = deliverIn(world);
    await deliverDue();
    expect(await look(webhook)).toMatchObject({ last_fault: "status 500", waiting: 1, dead: 0 });
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
    expect(await look(webhook)).toMatchObject({ last_fault: null, waiting: 0, dead: 0 });
  });

  test("is given up after a day, shown, and sent again when somebody says so", async () => {
    const webhook = await addWebhook(world, receiver.url);
    await create("spring");
    receiver.doing(refuse);
    const { deliverDue } = deliverIn(world);
    for (let hour = 0; hour < 25; hour += 1) {
      await deliverDue();
      expect(await look(webhook)).toMatchObject(hour < 24 ? { waiting: 1 } : {});
      world.advance(hour_ms);
    }
    expect(await look(webhook)).toMatchObject({ waiting: 0, dead: 1, last_fault: "status 500" });
    const { db } = world.store;
    const dead = await listDead(db, webhook, 10);
    expect(dead).toMatchObject([{ event: "link.created", fault: "status 500" }]);
    const tried = receiver.received.length;
    expect(dead[0]?.attempts).toBe(tried);
    world.advance(hour_ms);
    await deliverDue();
    expect(receiver.received).toHaveLength(tried);

    receiver.doing(take);
    const again = () =>
      world.store.write((own) => sendAgain(own, webhook, dead[0]?.event_id, world.now()));
    expect([await again(), await again()]).toEqual([1, 0]);
    await deliverDue();
    expect(receiver.received).toHaveLength(tried + 1);
    expect(await look(webhook)).toMatchObject({ waiting: 0, dead: 0, last_fault: null });
  });

  test("has another day where somebody has it sent again", async () => {
    const { webhook, deliverDue } = await giveUp("spring");
    await world.store.write((own) => sendAgain(own, webhook, undefined, world.now()));
    for (const outcome of [{ waiting: 1 }, { waiting: 1 }, { waiting: 0, dead: 1 }]) {
      await deliverDue();
      expect(await look(webhook)).toMatchObject(outcome);
      world.advance(12 * hour_ms);
    }
  });

  test("that was given up is kept for a week", async () => {
    const { webhook, deliverDue } = await giveUp("spring");
    expect(await look(webhook)).toMatchObject({ dead: 1 });
    world.advance(6 * 24 * hour_ms);
    await deliverDue();
    expect(await look(webhook)).toMatchObject({ dead: 1 });
    world.advance(2 * 24 * hour_ms);
    await deliverDue();
    expect(await look(webhook)).toMatchObject({ dead: 0 });
  });
});

describe("of one link", () => {
  test("what came later waits for what came before, and other links do not", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.updated"]);
    const [one, other] = [await create("one"), await create("other")];
    await rename(one, "1");
    receiver.doing((response, { body }) => {
      response.writeHead(body.data.link.path === "one" ? 500 : 204).end();
    });
    const { deliverDue } = deliverIn(world);
    await deliverDue();
    await rename(one, "2");
    await rename(other, "3");
    await rename(one, "4");
    await deliverDue();
    expect(names()).toEqual(["1", "3"]);
    expect(await look(webhook)).toMatchObject({ waiting: 3 });
    receiver.doing(take);
    world.advance(10 * second_ms);
    await deliverDue();
    expect(names()).toEqual(["1", "3", "1", "2", "4"]);
  });

  test("what is given up holds up no more than what waited with it", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.updated"]);
    const one = await create("one");
    receiver.doing((response, { body }) => {
      response.writeHead(body.data.link.name === "1" ? 500 : 204).end();
    });
    const { deliverDue } = deliverIn(world);
    await rename(one, "1");
    await rename(one, "2");
    await deliverDue();
    world.advance(25 * hour_ms);
    await deliverDue();
    expect(names()).toEqual(["1", "1", "2"]);
    expect(await look(webhook)).toMatchObject({ waiting: 0, dead: 1 });
  });

  test("what came later has a day of its own", async () => {
    const webhook = await addWebhook(world, receiver.url);
    receiver.doing(refuse);
    const one = await create("one");
    const { deliverDue } = deliverIn(world);
    for (let hour = 0; hour < 48; hour += 1) {
      if (hour === 23) await rename(one, "2");
      await deliverDue();
      const waiting = Number(hour < 24) + Number(hour >= 23 && hour < 47);
      expect([hour, await look(webhook)]).toMatchObject([hour, { waiting }]);
      world.advance(hour_ms);
    }
    const dead = await listDead(world.store.db, webhook, 10);
    expect(dead.map(({ event }) => event)).toEqual(["link.updated", "link.created"]);
    expect(dead[0]?.attempts).toBeGreaterThan(10);
  });

  test("what is a day old when its turn comes has minutes of its own, not a day", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.updated"]);
    const [one, other] = [await create("one"), await create("other")];
    receiver.doing((response, { body }) => {
      response.writeHead(["1", "2", "3"].includes(body.data.link.name) ? 500 : 204).end();
    });
    const { deliverDue } = deliverIn(world);
    for (const name of ["1", "2", "3", "4"]) await rename(one, name);
    await deliverDue();
    world.advance(25 * hour_ms);
    await rename(other, "taken");
    await deliverDue();
    expect(await look(webhook)).toMatchObject({ waiting: 3, dead: 1 });
    for (let second = 0; second < 720; second += 20) {
      await deliverDue();
      world.advance(20 * second_ms);
    }
    expect(await look(webhook)).toMatchObject({ waiting: 0, dead: 2 + 1 });
    expect(names().at(-1)).toBe("4");
    for (const name of ["2", "3"]) {
      expect(names().filter((tried) => tried === name).length).toBeGreaterThan(3);
    }
  });

  describe("what is sent again while a later event of its link waits for hours", () => {
    let id: string;
    let deliverDue: () => Promise<void>;

    beforeEach(async () => {
      const webhook = await addWebhook(world, receiver.url, ["link.updated"]);
      const other = await create("other");
      id = await create("one");
      receiver.doing((response, { body }) => {
        response.writeHead(body.data.link.path === "one" ? 422 : 204).end();
      });
      ({ deliverDue } = deliverIn(world));
      await rename(id, "1");
      for (let hour = 0; hour < 40; hour += 1) {
        if (hour === 20) await rename(id, "2");
        await deliverDue();
        await rename(other, `taken-${hour}`);
        await deliverDue();
        world.advance(hour_ms);
      }
      expect(await look(webhook)).toMatchObject({ waiting: 1, dead: 1 });
      await deliverDue();
      await deliverDue();
      receiver.received.length = 0;
      await world.store.write((db) => sendAgain(db, webhook, undefined, world.now()));
    });

    test("does not wait for that", async () => {
      receiver.doing(take);
      await deliverDue();
      expect(names()).toEqual(["1"]);
      world.advance(3 * hour_ms);
      await deliverDue();
      expect(names()).toEqual(["1", "2"]);
    });

    test("is tried again within seconds, though one more comes about meanwhile", async () => {
      await deliverDue();
      expect(names()).toEqual(["1"]);
      await rename(id, "3");
      await deliverDue();
      world.advance(10 * second_ms);
      receiver.doing(take);
      await deliverDue();
      expect(names()).toEqual(["1", "1"]);
      world.advance(3 * hour_ms);
      await deliverDue();
      expect(names()).toEqual(["1", "1", "2", "3"]);
    });
  });

  // A version before gave what waited the end of what it waited for.
  test("what an older version had end too soon has its own day after all", async () => {
    const webhook = await addWebhook(world, receiver.url);
    await create("spring");
    const until = world.now() + 1000;
    await world.store.db.updateTable("deliveries").set({ ends_at: until }).execute();
    world.advance(hour_ms);
    receiver.doing(refuse);
    await deliverIn(world).deliverDue();
    expect(await look(webhook)).toMatchObject({ waiting: 1, dead: 0 });
  });
});

describe("a receiver", () => {
  test.each([
    ["that refuses", (port: number) => `http://127.0.0.1:${port}/`, refuse, "status 500"],
    [
      "that closes the connection",
      (port: number) => `http://127.0.0.1:${port}/`,
      (response) => response.destroy(),
      "no answer that could be read",
    ],
    [
      "that sends elsewhere",
      (port: number) => `http://127.0.0.1:${port}/first`,
      (response) => response.writeHead(307, { location: "/second" }).end(),
      "status 307: redirects are not followed",
    ],
    [
      "that speaks no TLS",
      (port: number) => `https://127.0.0.1:${port}/`,
      take,
      "a certificate that is not valid",
    ],
  ] as const satisfies readonly (readonly [
    string,
    unknown,
    Parameters<TestReceiver["doing"]>[0],
    string,
  ])[])("%s is told of with the cause", async (_, write, answer, fault) => {
    const webhook = await addWebhook(world, write(receiver.port));
    await create("spring");
    receiver.doing(answer);
    await deliverIn(world).deliverDue();
    expect(await look(webhook)).toMatchObject({ last_fault: fault, waiting: 1 });
    expect(receiver.received.length).toBeLessThanOrEqual(1);
  });

  test("that never answers is let go of after ten seconds, and holds up no other", async () => {
    await using stuck = await startReceiver(hang);
    const webhook = await addWebhook(world, stuck.url);
    const { id } = await addWebhook(world, receiver.url);
    await create("spring");
    const { deliverDue, errors } = deliverIn(world);
    const delivering = deliverDue();
    await Promise.all([stuck.untilReceived(1), receiver.untilReceived(1)]);
    await waitUntil(async () => {
      const turns = world.store.db.selectFrom("webhooks").select("runner").where("id", "=", id);
      return (await turns.executeTakeFirstOrThrow()).runner === null;
    });
    // While it hangs, others are told of what comes about.
    expect((await rename(await create("later"), "x")).status).toBe(200);
    const meanwhile = deliverDue();
    await receiver.untilReceived(3);
    for (const count of [2, 3]) {
      world.advance(10 * second_ms);
      await stuck.untilReceived(count);
    }
    world.advance(10 * second_ms);
    await Promise.all([delivering, meanwhile]);
    expect(await look(webhook)).toMatchObject({ last_fault: "no answer in time" });
    expect(errors).toEqual([]);
  });

  test("that is away is asked now and then, and told everything when it is back", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.created"]);
    receiver.doing(refuse);
    for (let count = 0; count < 30; count += 1) await create(`link-${count}`);
    const { deliverDue } = deliverIn(world);
    await deliverDue();
    const first = receiver.received.length;
    expect(first).toBeLessThanOrEqual(16);
    for (let minute = 0; minute < 20; minute += 1) {
      world.advance(60 * second_ms);
      await deliverDue();
    }
    expect(receiver.received.length - first).toBeLessThanOrEqual(20);
    receiver.doing(take);
    receiver.received.length = 0;
    world.advance(2 * 60 * second_ms);
    await deliverDue();
    expect(new Set(paths()).size).toBe(30);
    expect(receiver.received).toHaveLength(30);
    expect(await look(webhook)).toMatchObject({ waiting: 0, dead: 0, failing_since: null });
  });
});

async function deliverBy(addresses: readonly string[], networks = loopback) {
  const asked: string[] = [];
  const resolve = (host: string) => {
    asked.push(host);
    return Promise.resolve(addresses);
  };
  const webhook = await addWebhook(world, `http://receiver.example:${receiver.port}/`);
  await create("spring");
  await deliverIn(world, { reach: { ...reachReceivers(networks), resolve } }).deliverDue();
  const fault = (await look(webhook))?.last_fault;
  return { fault, asked, arrived: receiver.received.length };
}

describe("a webhook leads", () => {
  test("to the address that was looked at, and to no other that its name has later", async () => {
    expect(await deliverBy(["127.0.0.1"])).toEqual({
      fault: null,
      asked: ["receiver.example"],
      arrived: 1,
    });
    expect(receiver.received[0]?.headers.host).toBe(`receiver.example:${receiver.port}`);
  });

  test.each([
    [["127.0.0.1"], []],
    [["10.0.0.7"], loopback],
    [["192.0.2.1", "127.0.0.1"], loopback],
    [["::ffff:169.254.169.254"], loopback],
    [[], loopback],
  ])("to no private network but those that were named: %j", async (addresses, networks) => {
    const { fault, arrived } = await deliverBy(addresses, networks);
    expect([fault, arrived]).toEqual(["no host of the public internet", 0]);
  });

  test("to the next address where nothing listens at the first", async () => {
    const named = [{ address: "127.0.0.0", prefix: 8 }];
    const reached = await deliverBy(["127.0.0.2", "127.0.0.1"], named);
    expect(reached).toMatchObject({ fault: null, asked: ["receiver.example"], arrived: 1 });
  });

  test.each([[["93.184.216.34"]], [["127.0.0.1", "93.184.216.34"]]])(
    "over plain http to named networks alone: %j",
    async (addresses) => {
      const { fault, arrived } = await deliverBy(addresses);
      expect([fault, arrived]).toEqual(["plain http to the public internet", 0]);
    },
  );
});
