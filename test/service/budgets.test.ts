import { expect, test } from "vitest";
import { createBudgets } from "../../src/service/budgets.ts";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests the rate limits. Each key may send 600 requests a minute for each kind of request. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const unknownId = "0190a000-0000-7000-8000-000000000000";
const refusal = { error: "Rate limit exceeded. Too many requests." };

type Call = readonly [method: string, path: string];

const rows = {
  "link writes": [
    ["POST", "/links"],
    ["POST", "/links/upsert"],
    ["PATCH", `/links/${unknownId}`],
    ["PUT", `/links/${unknownId}`],
  ],
  "URL shortening": [["POST", "/short_links"]],
  "iOS app writes": [
    ["POST", "/ios_apps"],
    ["PATCH", `/ios_apps/${unknownId}`],
    ["PUT", `/ios_apps/${unknownId}`],
    ["DELETE", `/ios_apps/${unknownId}`],
  ],
  "Android app writes": [
    ["POST", "/android_apps"],
    ["PATCH", `/android_apps/${unknownId}`],
    ["PUT", `/android_apps/${unknownId}`],
    ["DELETE", `/android_apps/${unknownId}`],
  ],
} as const satisfies Record<string, readonly Call[]>;

const unlimited: readonly Call[] = [
  ["GET", "/links"],
  ["GET", `/links/${unknownId}`],
  ["DELETE", `/links/${unknownId}`],
  ["GET", "/ios_apps"],
  ["GET", `/ios_apps/${unknownId}`],
  ["GET", "/android_apps"],
  ["GET", `/android_apps/${unknownId}`],
  ["POST", "/short_links/resolve"],
];

/** Sends a body that is rejected after the rate limit is checked, so nothing is written. */
async function call(world: World, [method, path]: Call, key = world.key) {
  // An empty object would create a link, because a link needs no fields.
  const refused = path === "/links" ? [] : {};
  return world.call(method, path, { key, body: method.startsWith("P") ? refused : undefined });
}

async function spend(world: World, calls: readonly Call[], times: number, key = world.key) {
  const tally = { passed: 0, refused: 0 };
  for (let turn = 0; turn < times; turn += 1) {
    const next = calls[turn % calls.length];
    if (next === undefined) continue;
    const { status } = await call(world, next, key);
    tally[status === 429 ? "refused" : "passed"] += 1;
  }
  return tally;
}

for (const [row, calls] of Object.entries<readonly Call[]>(rows)) {
  test(`the rate limit for ${row} allows 600 requests and affects no other requests`, async () => {
    expect(await spend(world, calls, 600)).toEqual({ passed: 600, refused: 0 });
    for (const next of calls) {
      const reply = await call(world, next);
      expect([next, reply.status, reply.body]).toEqual([next, 429, refusal]);
      expect(reply.text).toBe(JSON.stringify(refusal));
      expect(reply.headers.has("retry-after")).toBe(false);
      expect(reply.headers.get("content-type")).toBe("application/json");
    }
    for (const [other, others] of Object.entries<readonly Call[]>(rows)) {
      if (other === row) continue;
      const { refused } = await spend(world, others, others.length);
      expect([other, refused]).toEqual([other, 0]);
    }
    expect((await spend(world, unlimited, unlimited.length)).refused).toBe(0);
  });
}

test("reads, link deletions and POST /short_links/resolve have no rate limit per key", async () => {
  for (const next of unlimited) {
    expect([next, await spend(world, [next], 650)]).toEqual([next, { passed: 650, refused: 0 }]);
  }
});

test("the 600th write within a minute is saved, and the 601st is rejected", async () => {
  const write = (path: string) => world.call("POST", "/links", { body: { path } });
  await spend(world, [["POST", "/links"]], 599);
  expect((await write("last")).status).toBe(201);
  expect((await write("more")).status).toBe(429);
  expect((await world.call("GET", "/links")).body.links).toMatchObject([{ path: "last" }]);
});

test("a rate limit's window starts with the first request and ends a minute later", async () => {
  const calls = rows["link writes"];
  world.advance(12_345);
  await spend(world, calls, 1);
  world.advance(30_000);
  expect(await spend(world, calls, 600)).toEqual({ passed: 599, refused: 1 });
  world.advance(29_999);
  expect(await spend(world, calls, 1)).toEqual({ passed: 0, refused: 1 });
  world.advance(1);
  expect(await spend(world, calls, 601)).toEqual({ passed: 600, refused: 1 });
  world.advance(59_999);
  expect(await spend(world, calls, 1)).toEqual({ passed: 0, refused: 1 });
  world.advance(1);
  expect(await spend(world, calls, 1)).toEqual({ passed: 1, refused: 0 });
});

test("a rate-limited key stays limited even after 60,000 other keys send requests", () => {
  let now = 0;
  const book = createBudgets({ monotonic: () => now });
  const spend = (key: string) => book.spend(key, "link_writes");
  for (let turn = 0; turn < 600; turn += 1) void spend("spent");
  now = 30_000;
  for (let turn = 0; turn < 30_000; turn += 1) void spend(`other-${turn}`);
  expect(() => spend("spent")).toThrow("Rate limit exceeded");
  now = 59_999;
  for (let turn = 0; turn < 30_000; turn += 1) void spend(`more-${turn}`);
  expect(() => spend("spent")).toThrow("Rate limit exceeded");
  now = 60_000;
  void spend("spent");
});

test("each key of a project has its own rate limit", async () => {
  const calls = rows["iOS app writes"];
  const other = await world.addKey();
  await spend(world, calls, 601);
  expect(await spend(world, calls, 601, other)).toEqual({ passed: 600, refused: 1 });
});

test("a master key can send more than 600 requests to /projects per minute", async () => {
  const calls: readonly Call[] = [["PATCH", `/projects/${unknownId}`]];
  expect((await spend(world, calls, 650, world.master)).refused).toBe(0);
});

test("exactly 600 of 650 concurrent write requests with the same key are accepted", async () => {
  const replies = await Promise.all(
    Array.from({ length: 650 }, () => call(world, ["POST", "/links"])),
  );
  expect(replies.filter((reply) => reply.status === 429)).toHaveLength(50);
});

test("requests that fail the plan, scope or role check do not use up the rate limit", async () => {
  const free = await world.addProject({ plan: "free" });
  const refusedEarly = [
    [await world.addKey({ project: free }), "/short_links"],
    [await world.addKey({ scopes: ["links.show"] }), "/links"],
    [await world.addKey({ role: "viewer" }), "/ios_apps"],
  ] as const;
  for (const [key, path] of refusedEarly) {
    let status = 0;
    for (let turn = 0; turn < 601; turn += 1) {
      status = (await world.call("POST", path, { key, body: {} })).status;
    }
    expect([path, status]).toEqual([path, 401]);
  }
});
