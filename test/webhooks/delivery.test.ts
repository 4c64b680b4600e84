import { describe, expect, test } from "vitest";
import { reachReceivers } from "../../src/webhooks/reach.ts";
import { listDead, sendAgain } from "../../src/store/deliveries.ts";
import { findWebhook, type OwnWebhook } from "../../src/store/webhooks.ts";
import { hang, refuse, startReceiver, take, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, loopback, openWithReceiver } from "../support/webhook-world.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { World } from "../support/world.ts";

/** How messages arrive, or do not: again, and at the right place. */

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

describe("a failing event", () => {
  test("is retried alone, while later events of the same link are delivered", async () => {
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
    expect(await look(webhook)).toMatchObject({ waiting: 1, failing_since: null });
    receiver.doing(take);
    world.advance(10 * second_ms);
    await deliverDue();
    expect(names().at(-1)).toBe("1");
    expect(await look(webhook)).toMatchObject({ waiting: 0 });
  });

  test("is retried for a day from its first attempt, however late that was", async () => {
    const webhook = await addWebhook(world, receiver.url);
    await create("spring");
    world.advance(48 * hour_ms);
    receiver.doing(refuse);
    const { deliverDue } = deliverIn(world);
    for (let hour = 0; hour < 24; hour += 1) {
      await deliverDue();
      expect([hour, await look(webhook)]).toMatchObject([hour, { waiting: 1, dead: 0 }]);
      world.advance(hour_ms);
    }
    await deliverDue();
    expect(await look(webhook)).toMatchObject({ waiting: 0, dead: 1 });
    expect(receiver.received.length).toBeGreaterThan(10);
  });
});

describe("a receiver", () => {
  test.each([
    ["that refuses", (port: number) => `http://127.0.0.1:${port}/`, refuse, "status 500"],
    [
      "that closes the connection",
      (port: number) => `http://127.0.0.1:${port}/`,
      (response) => response.destroy(),
      "the response could not be read",
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
      "its certificate is invalid",
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
    const { deliverDue, close, errors } = deliverIn(world);
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
    world.advance(10 * second_ms);
    await stuck.untilReceived(3);
    const closing = close();
    world.advance(3 * second_ms);
    await Promise.all([delivering, meanwhile, closing]);
    expect(await look(webhook)).toMatchObject({ last_fault: "the server did not respond in time" });
    expect(errors).toEqual([]);
  });

  test("that fails ten times in a row rests a minute, and gets everything afterwards", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.created"]);
    receiver.doing(refuse);
    for (let count = 0; count < 30; count += 1) await create(`link-${count}`);
    const { deliverDue } = deliverIn(world);
    await deliverDue();
    const first = receiver.received.length;
    expect(first).toBeGreaterThanOrEqual(10);
    // As many as were on the way with the tenth.
    expect(first).toBeLessThanOrEqual(17);
    world.advance(59 * second_ms);
    await deliverDue();
    expect(receiver.received).toHaveLength(first);
    receiver.doing(take);
    receiver.received.length = 0;
    world.advance(2 * second_ms);
    await deliverDue();
    expect(new Set(paths()).size).toBe(30);
    expect(await look(webhook)).toMatchObject({ waiting: 0, dead: 0, failing_since: null });
  });

  test("that fails nine times in a row does not rest, and a delivery counts anew", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.created"]);
    const rests = async () => {
      const { db } = world.store;
      const query = db.selectFrom("webhooks").select(["rests_until", "failures"]);
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
    expect(await rests()).toEqual({ rests_until: 0, failures: 9 });
    receiver.doing(take);
    await create("taken");
    await deliverDue();
    expect(await rests()).toEqual({ rests_until: 0, failures: 0 });
    await refuseAll("second", 10);
    expect(await rests()).toEqual({ rests_until: world.now() + 60 * second_ms, failures: 10 });
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
    expect([fault, arrived]).toEqual(["the host has no public address", 0]);
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
      expect([fault, arrived]).toEqual(["plain http is not allowed on the public internet", 0]);
    },
  );
});
