import { describe, expect, test } from "vitest";
import { reachReceivers } from "../../src/webhooks/reach.ts";
import { deleteWebhook } from "../../src/store/webhooks.ts";
import { hang, refuse, startReceiver, take, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, loopback, openWithReceiver } from "../support/webhook-world.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { World } from "../support/world.ts";

/** How messages arrive, or do not: again, and at the right place. */

const second_ms = 1000;
const hour_ms = 60 * 60 * second_ms;

let receiver: TestReceiver;
let world: World;

const { create, rename, find, suspend } = openWithReceiver(
  (opened) => ({ world, receiver } = opened),
);

const paths = () => receiver.received.map(({ body }) => body.data.link.path);
const names = () => receiver.received.map(({ body }) => body.data.link.name);

describe("a message that failed", () => {
  test("is sent again with a new timestamp, after longer and longer waits", async () => {
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

describe("a failing event", () => {
  test("is retried while later events of the same link are delivered", async () => {
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
  ])[])("%s is shown with the cause", async (_, write, answer, fault) => {
    const webhook = await addWebhook(world, write(receiver.port));
    await create("spring");
    receiver.doing(answer);
    await deliverIn(world).deliverDue();
    expect(await find(webhook)).toMatchObject({ last_fault: fault, waiting: 1 });
    expect(receiver.received.length).toBeLessThanOrEqual(1);
  });

  test("that never answers fails after ten seconds and delays no other receiver", async () => {
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

  test("that fails ten times in a row rests a minute, and then receives everything", async () => {
    const webhook = await addWebhook(world, receiver.url, ["link.created"]);
    receiver.doing(refuse);
    for (let count = 0; count < 30; count += 1) await create(`link-${count}`);
    const { deliverDue } = deliverIn(world);
    await deliverDue();
    const first = receiver.received.length;
    expect(first).toBeGreaterThanOrEqual(10);
    // The tenth was sent together with others.
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

  test("that fails nine times in a row does not rest, and a success resets the count", async () => {
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

/** So many events are on their way at once. */
const eventsAtOnce = 8;

/** Queues three batches, and runs `act` while the receiver holds back the answers to the first. */
async function actWithinBatches(act: () => Promise<unknown>) {
  const webhook = await addWebhook(world, receiver.url, ["link.created"]);
  for (let link = 0; link < 3 * eventsAtOnce; link += 1) await create(`link-${link}`);
  const answers: (() => void)[] = [];
  receiver.doing((response) => {
    answers.push(() => void response.writeHead(204).end());
    if (answers.length === eventsAtOnce) void act().then(() => answers.forEach((send) => send()));
  });
  const { deliverDue, errors } = deliverIn(world);
  return { webhook, deliverDue, errors };
}

test("a webhook that is revoked receives only the events that are on their way", async () => {
  const { store, project } = world;
  const revoke = () =>
    store.write(async (db) => {
      const [webhook] = await db.selectFrom("webhooks").select("id").execute();
      return deleteWebhook({ db, projectId: project.id }, webhook?.id ?? "");
    });
  const { deliverDue, errors } = await actWithinBatches(revoke);
  await deliverDue();
  expect([receiver.received.length, errors]).toEqual([eventsAtOnce, []]);
});

test("a suspended project's events wait until the suspension ends", async () => {
  const { deliverDue } = await actWithinBatches(() => suspend(1));
  await deliverDue();
  expect(receiver.received).toHaveLength(eventsAtOnce);
  receiver.doing(take);
  await suspend(0);
  await deliverDue();
  expect(receiver.received).toHaveLength(3 * eventsAtOnce);
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
  const fault = (await find(webhook))?.last_fault;
  return { fault, asked, arrived: receiver.received.length };
}

describe("a message is sent", () => {
  test("to the IP address that was checked, without a second lookup", async () => {
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
  ])("to no private network that is not named: %j", async (addresses, networks) => {
    const { fault, arrived } = await deliverBy(addresses, networks);
    expect([fault, arrived]).toEqual(["the host has no public address", 0]);
  });

  test("to the next IP address when nothing listens at the first", async () => {
    const named = [{ address: "127.0.0.0", prefix: 8 }];
    const reached = await deliverBy(["127.0.0.2", "127.0.0.1"], named);
    expect(reached).toMatchObject({ fault: null, asked: ["receiver.example"], arrived: 1 });
  });

  test.each([[["93.184.216.34"]], [["127.0.0.1", "93.184.216.34"]]])(
    "over plain http only to named networks: %j",
    async (addresses) => {
      const { fault, arrived } = await deliverBy(addresses);
      expect([fault, arrived]).toEqual([expect.stringMatching("^must be an https address"), 0]);
    },
  );
});
