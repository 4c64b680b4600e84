import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { sendEmbedded } from "../../src/client/send-once.ts";
import { contract } from "../../src/contract/index.ts";
import { createGate } from "../support/clock.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type World } from "../support/world.ts";
import { createTimedClient, type TimedClient } from "./clients.ts";

/** Tests how the client respects rate limits, in virtual time and with the real service. */

const { links, iosApps, androidApps, shortLinks } = contract;
const unknownId = "0190a000-0000-7000-8000-000000000000";

let world: World;
let caller: TimedClient;
let statuses: number[];
let times: number[];
let onRequest: () => Promise<void>;
let onSleep: (milliseconds: number) => unknown;

openForEach(createWorld, (opened) => {
  world = opened;
  statuses = [];
  times = [];
  onRequest = () => Promise.resolve();
  caller = createTimedClient({
    world,
    send: sendEmbedded(async (request) => {
      await onRequest();
      const reply = await world.answer(request);
      statuses.push(reply.status);
      times.push(caller.elapsed());
      return reply;
    }),
    sleep: async (milliseconds) => {
      await onSleep(milliseconds);
    },
  });
  onSleep = caller.advance;
});

/** Sends the cheapest request that counts toward the limit. It returns 404. */
async function write(): Promise<void> {
  await expect(caller.client.call(links.update, { id: unknownId })).rejects.toMatchObject({
    status: 404,
  });
}

async function writeMany(count: number, pause_ms = 0): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await write();
    caller.advance(pause_ms);
  }
}

/** Sends the same request as `write` from another client. */
function writeFromOtherClient(): Promise<unknown> {
  return world.call("PATCH", `/links/${unknownId}`, { body: {} });
}

const limitReached = {
  name: "CallFailure",
  code: "rate_limited",
  facts: { effect: "none", retry: "later" },
};

describe("the only client of a key", () => {
  test("sends 600 writes without waiting and the next write a minute after the first", async () => {
    await writeMany(600, 50);
    expect(caller.waits).toEqual([]);
    await write();
    // Half a minute has passed. The client waits one more second in case clocks differ.
    expect(caller.waits).toEqual([31_000]);
    expect(statuses.filter((status) => status !== 404)).toEqual([]);
  });

  test("rejects a call that would wait past its deadline and sends no request", async () => {
    await writeMany(600);
    await expect(caller.client.call(links.create, { path: "late" })).rejects.toMatchObject({
      ...limitReached,
      facts: { ...limitReached.facts, retry_after_s: 61 },
    });
    expect(statuses.length).toBe(600);
    expect(caller.waits).toEqual([]);
  });

  test("never gets a 429 for 250 concurrent writes and sends them in order", async () => {
    await writeMany(500, 60);
    const sleepers: { readonly at: number; readonly wake: (value: unknown) => void }[] = [];
    onSleep = (milliseconds) =>
      new Promise((wake) => {
        sleepers.push({ at: caller.elapsed() + milliseconds, wake });
      });
    let left = 250;
    const writes = Array.from({ length: left }, () => write().finally(() => (left -= 1)));
    while (left > 0) {
      await nextTurn();
      // Advance the clock only when all calls are waiting.
      if (sleepers.length < left) continue;
      sleepers.sort((one, other) => one.at - other.at);
      const next = sleepers.shift();
      if (next === undefined) continue;
      caller.advance(Math.max(0, next.at - caller.elapsed()));
      next.wake(null);
    }
    await Promise.all(writes);
    expect(statuses).toEqual(Array(750).fill(404));
    // 100 writes are sent at once. The other 150 wait until the first writes are a minute old.
    const waited = Array.from({ length: 150 }, (_, index) => 61_000 + index * 60);
    expect(times.slice(600)).toEqual(waited);
  });

  test("does not delay calls longer because an earlier response was slow", async () => {
    const [asked, answered] = [createGate(), createGate()];
    onRequest = () => {
      asked.open();
      return answered.opened;
    };
    const slow = write();
    await asked.opened;
    onRequest = () => Promise.resolve();
    await writeMany(599);
    caller.advance(14_000);
    answered.open();
    await slow;
    caller.advance(6000);
    await write();
    expect(caller.waits).toEqual([41_000]);
  });

  test("counts a slow request toward the limit from the time of its response", async () => {
    onRequest = async () => caller.advance(10_000);
    await write();
    onRequest = () => Promise.resolve();
    await writeMany(599);
    caller.advance(55_000);
    await writeMany(600, 1);
    expect(new Set(statuses)).toEqual(new Set([404]));
  });

  test("gives a cancelled call's place in the queue to the next call", async () => {
    await writeMany(600, 50);
    const controller = new AbortController();
    onSleep = () => controller.abort();
    await expect(
      caller.client.call(links.create, { path: "left" }, controller.signal),
    ).rejects.toMatchObject({ code: "cancelled", facts: { effect: "none" } });
    onSleep = caller.advance;
    await write();
    // The next call waits as long as the cancelled call would have waited.
    expect(caller.waits).toEqual([31_000, 31_000]);
    expect(statuses).toHaveLength(601);
  });
});

test("a call without a response is not retried if that would exceed the rate limit", async () => {
  await writeMany(599);
  onRequest = () => Promise.reject(new Error("lost"));
  await expect(caller.client.call(links.upsert, { path: "a" })).rejects.toMatchObject({
    code: "outcome_unknown",
    facts: { effect: "unknown", retry: "later" },
  });
  expect(statuses).toHaveLength(599);
});

describe("rate limits in the client", () => {
  test("are separate for links, apps and short links", async () => {
    await writeMany(600);
    const { client } = caller;
    await client.call(iosApps.create, { bundle_id: "com.example", team_id: "TEAM000001" });
    await client.call(androidApps.create, { package_name: "com.example", fingerprints: ["AA:BB"] });
    await client.call(shortLinks.create, { url: "https://example.com/" });
    await client.call(links.index, {});
    await expect(client.call(links.destroy, { id: unknownId })).rejects.toMatchObject({
      status: 404,
    });
    await expect(client.call(links.create, {})).rejects.toMatchObject(limitReached);
    expect(caller.waits).toEqual([]);
  });

  test("are shared by creating, updating and upserting links", async () => {
    const { client } = caller;
    for (let turn = 0; turn < 200; turn += 1) {
      await client.call(links.upsert, { path: "one" });
      await write();
      await client.call(links.create, {});
    }
    await expect(client.call(links.upsert, { path: "one" })).rejects.toMatchObject(limitReached);
    expect(statuses).not.toContain(429);
  });

  test("do not delay calls to endpoints without a limit", async () => {
    for (let turn = 0; turn < 700; turn += 1) {
      await caller.client
        .call(links.destroy, { id: unknownId })
        .catch((error) => expect(error.status).toBe(404));
    }
    expect(caller.waits).toEqual([]);
  });
});

describe("a call that gets a 429 because of another client with the same key", () => {
  test("is retried three times with increasing delays and then fails", async () => {
    for (let turn = 0; turn < 600; turn += 1) await writeFromOtherClient();
    await expect(caller.client.call(links.create, { path: "x" })).rejects.toMatchObject({
      ...limitReached,
      facts: { ...limitReached.facts, retry_after_s: 60 },
    });
    expect(statuses).toEqual([429, 429, 429, 429]);
    const [first = 0, second = 0, third = 0] = caller.waits;
    expect(caller.waits).toHaveLength(3);
    expect(first).toBeGreaterThanOrEqual(1500);
    expect(second).toBeGreaterThan(first * 1.1);
    expect(third).toBeGreaterThan(second * 1.1);
  });
});

test("clients with different keys do not wait for each other", async () => {
  await writeMany(600);
  const other = createTimedClient({ world, fetch: world.fetch, key: await world.addKey() });
  await other.client.call(links.create, { path: "other" });
  expect(other.waits).toEqual([]);
});
