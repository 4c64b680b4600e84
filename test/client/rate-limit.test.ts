import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sendEmbedded } from "../../src/client/carriers.ts";
import { contract } from "../../src/contract/index.ts";
import { createGate } from "../support/clock.ts";
import { createWorld, type World } from "../support/world.ts";
import { createTraveller, type Traveller } from "./traveller.ts";

/** api-spec.md, "Limits", seen from the key's side: in virtual time, before the real service. */

const { links, iosApps, androidApps, shortLinks } = contract;
const nobody = "0190a000-0000-7000-8000-000000000000";

let world: World;
let traveller: Traveller;
let statuses: number[];
/** When each request arrived. */
let times: number[];
/** What happens on the way, before the service counts a request. */
let onRequest: () => Promise<void>;
let onSleep: (milliseconds: number) => unknown;

beforeEach(async () => {
  world = await createWorld();
  statuses = [];
  times = [];
  onRequest = () => Promise.resolve();
  traveller = createTraveller({
    world,
    send: sendEmbedded(async (request) => {
      await onRequest();
      const reply = await world.answer(request);
      statuses.push(reply.status);
      times.push(traveller.elapsed());
      return reply;
    }),
    sleep: async (milliseconds) => {
      await onSleep(milliseconds);
    },
  });
  onSleep = traveller.advance;
});
afterEach(() => world[Symbol.asyncDispose]());

/** The cheapest request that counts: it reaches the budget and finds nothing. */
async function write(): Promise<void> {
  await expect(traveller.client.call(links.update, { id: nobody })).rejects.toMatchObject({
    status: 404,
  });
}

async function writeMany(count: number, pause_ms = 0): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await write();
    traveller.advance(pause_ms);
  }
}

/** As `write`, by somebody whom the client knows nothing of. */
function spendElsewhere(): Promise<unknown> {
  return world.call("PATCH", `/links/${nobody}`, { body: {} });
}

const spent = {
  name: "CallFailure",
  code: "rate_limited",
  facts: { effect: "none", retry: "later" },
};

describe("a key's own haste", () => {
  test("six hundred writes go at once; the next waits for the first to age", async () => {
    await writeMany(600, 50);
    expect(traveller.waits).toEqual([]);
    await write();
    // Half a minute has passed, and a second is kept for clocks that differ.
    expect(traveller.waits).toEqual([31_000]);
    expect(statuses.filter((status) => status !== 404)).toEqual([]);
  });

  test("a call that would wait past its deadline is refused before anything is sent", async () => {
    await writeMany(600);
    await expect(traveller.client.call(links.create, { path: "late" })).rejects.toMatchObject({
      ...spent,
      facts: { ...spent.facts, retry_after_s: 61 },
    });
    expect(statuses.length).toBe(600);
    expect(traveller.waits).toEqual([]);
  });

  test("who comes back when it was told to is let through", async () => {
    await writeMany(600);
    await expect(traveller.client.call(links.create, {})).rejects.toMatchObject(spent);
    traveller.advance(61_000);
    await traveller.client.call(links.create, { path: "patient" });
    expect(traveller.waits).toEqual([]);
  });

  test("fifteen hundred writes never meet a 429", async () => {
    let refused = 0;
    for (let written = 0; written < 1500;) {
      const error = await traveller.client
        .call(links.update, { id: nobody })
        .catch((thrown) => thrown);
      if (error.status === 404) written += 1;
      else {
        expect(error).toMatchObject(spent);
        refused += 1;
        traveller.advance(error.facts.retry_after_s * 1000);
      }
    }
    expect(refused).toBe(2);
    expect(new Set(statuses)).toEqual(new Set([404]));
  });

  test("nor do those that are called at once, each of which waits for its own place", async () => {
    await writeMany(500, 60);
    const sleepers: { readonly at: number; readonly wake: (value: unknown) => void }[] = [];
    onSleep = (milliseconds) =>
      new Promise((wake) => {
        sleepers.push({ at: traveller.elapsed() + milliseconds, wake });
      });
    let left = 250;
    const writes = Array.from({ length: left }, () => write().finally(() => (left -= 1)));
    while (left > 0) {
      await nextTurn();
      // Time passes when nobody has anything else to do.
      if (sleepers.length < left) continue;
      sleepers.sort((one, other) => one.at - other.at);
      const next = sleepers.shift();
      if (next === undefined) continue;
      traveller.advance(Math.max(0, next.at - traveller.elapsed()));
      next.wake(null);
    }
    await Promise.all(writes);
    expect(statuses).toEqual(Array(750).fill(404));
    // A hundred find a place, and the others take those of the first 150, 60 ms apart.
    const waited = Array.from({ length: 150 }, (_, index) => 61_000 + index * 60);
    expect(times.slice(600)).toEqual(waited);
  });

  test("one slow answer does not hold up whoever waits for the others", async () => {
    const [asked, answered] = [createGate(), createGate()];
    onRequest = () => {
      asked.open();
      return answered.opened;
    };
    const slow = write();
    await asked.opened;
    onRequest = () => Promise.resolve();
    await writeMany(599);
    traveller.advance(14_000);
    answered.open();
    await slow;
    traveller.advance(6000);
    await write();
    expect(traveller.waits).toEqual([41_000]);
  });

  test("a request that travelled slowly counts from when the service counted it", async () => {
    onRequest = async () => traveller.advance(10_000);
    await write();
    onRequest = () => Promise.resolve();
    await writeMany(599);
    traveller.advance(55_000);
    await writeMany(600, 1);
    expect(new Set(statuses)).toEqual(new Set([404]));
  });

  test("a place whose caller left while waiting is given back", async () => {
    await writeMany(600, 50);
    const controller = new AbortController();
    onSleep = () => controller.abort();
    await expect(
      traveller.client.call(links.create, { path: "left" }, controller.signal),
    ).rejects.toMatchObject({ code: "cancelled", facts: { effect: "none" } });
    onSleep = traveller.advance;
    await write();
    // Whoever left waits for the first place, and so does the next one.
    expect(traveller.waits).toEqual([31_000, 31_000]);
    expect(statuses).toHaveLength(601);
  });
});

test("a repeat for which there is no place leaves the doubt that it was to settle", async () => {
  await writeMany(599);
  onRequest = () => Promise.reject(new Error("lost"));
  await expect(traveller.client.call(links.upsert, { path: "a" })).rejects.toMatchObject({
    code: "outcome_unknown",
    facts: { effect: "unknown", retry: "later" },
  });
  expect(statuses).toHaveLength(599);
});

describe("budgets", () => {
  test("what spends another budget, or none, does not wait", async () => {
    await writeMany(600);
    const { client } = traveller;
    await client.call(iosApps.create, { bundle_id: "com.example", team_id: "TEAM000001" });
    await client.call(androidApps.create, { package_name: "com.example", fingerprints: ["AA:BB"] });
    await client.call(shortLinks.create, { url: "https://example.com/" });
    await client.call(links.index, {});
    await expect(client.call(links.destroy, { id: nobody })).rejects.toMatchObject({ status: 404 });
    await expect(client.call(links.create, {})).rejects.toMatchObject(spent);
    expect(traveller.waits).toEqual([]);
  });

  test("endpoints of one row share their budget", async () => {
    const { client } = traveller;
    for (let turn = 0; turn < 200; turn += 1) {
      await client.call(links.upsert, { path: "one" });
      await write();
      await client.call(links.create, {});
    }
    await expect(client.call(links.upsert, { path: "one" })).rejects.toMatchObject(spent);
    expect(statuses).not.toContain(429);
  });

  test("what is not limited never waits", async () => {
    for (let turn = 0; turn < 700; turn += 1) {
      await traveller.client
        .call(links.destroy, { id: nobody })
        .catch((error) => expect(error.status).toBe(404));
    }
    expect(traveller.waits).toEqual([]);
  });
});

describe("somebody else on the same key", () => {
  test("a 429 is waited for with growing patience and then said", async () => {
    for (let turn = 0; turn < 600; turn += 1) await spendElsewhere();
    await expect(traveller.client.call(links.create, { path: "x" })).rejects.toMatchObject({
      ...spent,
      facts: { ...spent.facts, retry_after_s: 60 },
    });
    expect(statuses).toEqual([429, 429, 429, 429]);
    const [first = 0, second = 0, third = 0] = traveller.waits;
    expect(traveller.waits).toHaveLength(3);
    expect(first).toBeGreaterThanOrEqual(1500);
    expect(second).toBeGreaterThan(first * 1.1);
    expect(third).toBeGreaterThan(second * 1.1);
  });

  test("a 429 that passes is not told to anyone", async () => {
    for (let turn = 0; turn < 600; turn += 1) await spendElsewhere();
    traveller.advance(55_000);
    expect(await traveller.client.call(links.create, { path: "x" })).toMatchObject({ path: "x" });
    expect(statuses.at(-1)).toBe(201);
    expect(statuses).toContain(429);
  });

  test("a 429 is waited out although all repeats of failed calls are spent", async () => {
    const { client } = traveller;
    let tries = 0;
    onRequest = () => {
      tries += 1;
      return Promise.reject(new Error("the connection broke"));
    };
    const countTries = async () => {
      tries = 0;
      await client.call(links.index, {}).catch(() => {});
      return tries;
    };
    for (let turn = 0; turn < 60; turn += 1) await countTries();
    // Each call earns a part of a repeat. Right after one is used, none is near.
    while ((await countTries()) < 2);
    onRequest = () => Promise.resolve();
    for (let turn = 0; turn < 600; turn += 1) await spendElsewhere();
    traveller.advance(55_000);
    expect(await client.call(links.create, { path: "x" })).toMatchObject({ path: "x" });
    expect(statuses).toContain(429);
  });

  test("a 429 uses up no repeat of a failed call", async () => {
    for (let turn = 0; turn < 600; turn += 1) await spendElsewhere();
    // Time stands still, so that every try is answered with 429.
    onSleep = () => undefined;
    for (let turn = 0; turn < 40; turn += 1) {
      await expect(traveller.client.call(links.create, {})).rejects.toMatchObject(spent);
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(160);
    let tries = 0;
    onRequest = () => {
      tries += 1;
      return Promise.reject(new Error("the connection broke"));
    };
    await expect(traveller.client.call(links.index, {})).rejects.toThrow();
    expect(tries).toBe(4);
  });
});

test("two clients with different keys do not wait for each other", async () => {
  await writeMany(600);
  const other = createTraveller({ world, fetch: world.fetch, key: await world.addKey() });
  await other.client.call(links.create, { path: "other" });
  expect(other.waits).toEqual([]);
});
