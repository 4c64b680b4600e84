import type { AnswerApi } from "../../src/contract/api-message.ts";
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { apiPrefix } from "../../src/contract/index.ts";
import { createBudgets, createWindowReport } from "../../src/service/budgets.ts";
import { createService } from "../support/api-description.ts";
import { createWorld, linkOrigin, origin, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests rate limits that processes share by storing their counts in the database. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

function startProcess(world: World, store = world.store): AnswerApi {
  return createService({
    store,
    clock: world.clock,
    random: { bytes: randomBytes },
    setAlarm: world.setAlarm,
    readLinkOrigin: () => linkOrigin,
    report: String,
  }).answer;
}

type Sender = { readonly path?: string; readonly key?: string; readonly address?: string };

/** Sends a body that is rejected after the rate limit is checked, so nothing is written. */
async function ask(answer: AnswerApi, asked: Sender): Promise<number> {
  const { path = "/ios_apps", key, address } = asked;
  const headers = {
    "content-type": "application/json",
    ...(key !== undefined && { authorization: `Token ${key}` }),
  };
  const url = `${origin}${apiPrefix}${path}`;
  return (await answer({ method: "POST", url, headers, body: "{}", address })).status;
}

async function countPassed(
  processes: readonly AnswerApi[],
  times: number,
  asked: Sender,
): Promise<number> {
  let passed = 0;
  for (let turn = 0; turn < times; turn += 1) {
    const answer = processes[turn % processes.length];
    if (answer !== undefined && (await ask(answer, asked)) !== 429) passed += 1;
  }
  return passed;
}

const countRows = async ({ store }: World) =>
  (await store.db.selectFrom("request_counts").select("name").execute()).length;

function refuseWrite(): Promise<never> {
  return Promise.reject(new Error("the disk is full"));
}

test("three processes share a rate limit of 600 and exceed it only slightly", async () => {
  const asked = { key: world.key };
  const processes = [startProcess(world), startProcess(world), startProcess(world)];
  expect(await countPassed(processes, 600, asked)).toBe(600);
  // Each other process may be two twentieths of the limit behind.
  expect(await countPassed(processes, 600, asked)).toBeLessThanOrEqual(120);
  for (const answer of processes) expect(await ask(answer, asked)).toBe(429);
  world.advance(60_000);
  expect(await countPassed(processes, 3, asked)).toBe(3);
});

test("a process counts requests accepted by another process toward the limit", async () => {
  const asked = { key: world.key };
  const [one, other] = [startProcess(world), startProcess(world)];
  const all = await Promise.all(Array.from({ length: 700 }, () => ask(one, asked)));
  expect(all.filter((status) => status !== 429)).toHaveLength(600);
  const more = await Promise.all(Array.from({ length: 700 }, () => ask(other, asked)));
  expect(more.filter((status) => status !== 429).length).toBeLessThanOrEqual(60);
  // A new process also counts these requests.
  expect(await countPassed([startProcess(world)], 100, asked)).toBeLessThanOrEqual(60);
  const key = await world.addKey();
  expect(await countPassed([one, other], 100, { key })).toBe(100);
});

test("processes share an IP address's rate limit without storing the IP address", async () => {
  const asked = { path: "/short_links/resolve", address: "203.0.113.9" };
  const processes = [startProcess(world), startProcess(world)];
  expect(await countPassed(processes, 1200, asked)).toBe(1200);
  expect(await countPassed(processes, 1200, asked)).toBeLessThanOrEqual(600);
  // The stored rows contain no IP address.
  const rows = await world.store.db.selectFrom("request_counts").selectAll().execute();
  expect(rows).toHaveLength(2);
  expect(JSON.stringify(rows)).not.toContain("203.0");
});

test("a process stores its request count only once every 30 requests", async () => {
  const before = world.store.countWrites();
  expect(await countPassed([startProcess(world)], 29, { key: world.key })).toBe(29);
  expect(world.store.countWrites()).toBe(before);
  expect(await countPassed([startProcess(world)], 600, { key: world.key })).toBe(600);
  // Another write deleted the expired counts.
  expect(world.store.countWrites() - before).toBeLessThanOrEqual(21);
});

test("expired request counts are deleted even if the clock was set back", async () => {
  // The longest window is an hour.
  const ahead = world.clock.now() + 2 * 60 * 60_000;
  const left = { name: "a", process: "b", spent: 600, ends_at: ahead };
  await world.store.write((db) => db.insertInto("request_counts").values(left).execute());
  const [one, other] = [startProcess(world), startProcess(world)];
  expect(await countPassed([one, other], 200, { key: world.key })).toBe(200);
  world.advance(60_001);
  expect(await countPassed([one], 120, { key: world.key })).toBe(120);
  expect(await countRows(world)).toBe(1);
});

test("a process still limits requests if it cannot store its request counts", async () => {
  let tries = 0;
  const write = () => {
    tries += 1;
    return refuseWrite();
  };
  const alone = startProcess(world, { ...world.store, write });
  expect(await countPassed([alone], 300, { key: world.key })).toBe(300);
  expect(tries).toBe(1);
  world.advance(1000);
  expect(await countPassed([alone], 400, { key: world.key })).toBe(300);
  expect(tries).toBe(2);
});

test("request counts from before the clock was set back do not block later requests", async () => {
  const asked = { key: world.key };
  expect(await countPassed([startProcess(world)], 600, asked)).toBe(600);
  const { store, now } = world;
  const ahead = { ends_at: now() + 30 * 60_000 };
  await store.write((db) => db.updateTable("request_counts").set(ahead).execute());
  world.advance(60_000);
  expect(await countPassed([startProcess(world)], 600, asked)).toBe(600);
});

test("refunding requests causes no extra writes while their count is being stored", async () => {
  let writes = 0;
  const write: World["store"]["write"] = (work) => {
    writes += 1;
    return writes > 20 ? refuseWrite() : world.store.write(work);
  };
  const report = createWindowReport({ ...world.store, write }, world.clock);
  const budgets = createBudgets(world.clock, report);
  const address = "100.64.0.1";
  const spend = async () => budgets.spendByAddress(address, "shared_misses");
  const waiting = Promise.all(Array.from({ length: 20 }, spend));
  for (let turn = 0; turn < 10; turn += 1) budgets.refund(address, "shared_misses");
  await waiting;
  // One write stores the counts, and another deletes the windows that have ended.
  expect(writes).toBe(2);
  await Promise.all(Array.from({ length: 10 }, spend));
  await expect(spend()).rejects.toThrow("Rate limit exceeded");
  expect(writes).toBe(3);
});
