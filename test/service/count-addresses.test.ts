import { expect, test } from "vitest";
import { apiPrefix } from "../../src/contract/index.ts";
import { createBudgets } from "../../src/service/budgets.ts";
import { createWorld, linkOrigin, origin, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests the limit of 1,200 requests without a key a minute for each IP address. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const body = JSON.stringify({ url: linkOrigin.replace("{subdomain}", "default") + "/spring" });

function ask(world: World, address?: string) {
  const headers = { "content-type": "application/json" };
  const url = `${origin}${apiPrefix}/short_links/resolve`;
  return world.answer({ method: "POST", url, headers, body, address });
}

async function resolve(world: World, address?: string): Promise<number> {
  return (await ask(world, address)).status;
}

async function spend(world: World, times: number, address?: string): Promise<readonly number[]> {
  const statuses = new Set<number>();
  for (let turn = 0; turn < times; turn += 1) statuses.add(await resolve(world, address));
  return [...statuses];
}

test("POST /short_links/resolve allows 1,200 requests per minute from one IP address", async () => {
  await world.call("POST", "/links", { body: { path: "spring" } });
  expect(await spend(world, 1200, "203.0.113.9")).toEqual([200]);
  const late = await ask(world, "203.0.113.9");
  expect([late.status, late.body]).toEqual([
    429,
    { error: "Rate limit exceeded. Too many requests." },
  ]);
  expect(Object.keys(late.headers)).not.toContain("retry-after");
  expect(await resolve(world, "203.0.113.10")).toBe(200);
  world.advance(59_999);
  expect(await resolve(world, "203.0.113.9")).toBe(429);
  world.advance(1);
  expect(await resolve(world, "203.0.113.9")).toBe(200);
});

test("IPv6 addresses in the same /64 network share one rate limit", async () => {
  await spend(world, 600, "2001:db8::1");
  await spend(world, 600, "2001:db8::2");
  expect(await resolve(world, "2001:db8::3")).toBe(429);
  expect(await resolve(world, "2001:db8:0:1::1")).toBe(404);
});

test("calls made within the process have no rate limit per IP address", async () => {
  expect(await spend(world, 1300)).toEqual([404]);
});

test("requests with a key do not count toward their IP address's rate limit", async () => {
  const url = `${origin}${apiPrefix}/links`;
  const headers = { authorization: `Token ${world.key}` };
  for (let turn = 0; turn < 1210; turn += 1) {
    const { status } = await world.answer({ method: "GET", url, headers, address: "203.0.113.9" });
    expect(status).toBe(200);
  }
});

test("rate-limit counters are limited in number, and the oldest are dropped first", () => {
  let now = 0;
  const budgets = createBudgets({ monotonic: () => now });
  const spendOf = (address: string) => budgets.spendByAddress(address, "keyless");
  const use = (address: string) => {
    for (let turn = 0; turn < 1200; turn += 1) void spendOf(address);
  };
  use("203.0.113.1");
  now = 1;
  use("203.0.113.2");
  for (let turn = 0; turn < 9999; turn += 1) void spendOf(`10.0.${turn >> 8}.${turn & 255}`);
  expect(() => spendOf("203.0.113.1")).not.toThrow();
  for (let turn = 0; turn < 5000; turn += 1) void spendOf(`10.1.${turn >> 8}.${turn & 255}`);
  expect(() => spendOf("203.0.113.1")).not.toThrow();
  use("203.0.113.3");
  expect(() => spendOf("203.0.113.3")).toThrow("Rate limit exceeded");
});
