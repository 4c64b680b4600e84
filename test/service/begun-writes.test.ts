import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { createGate } from "../support/clock.ts";
import { createWorld } from "../support/world.ts";

/** Tests the response to a write whose outcome is not known in time. */

test("a write still running after ten seconds gets four more seconds to finish", async () => {
  await using held = await createHeldWorld();
  const { advance, call } = held.world;
  const replying = call("POST", "/links", { body: { path: "spring" } });
  await held.begun;
  advance(10_000);
  advance(3_999);
  held.release();
  expect((await replying).status).toBe(201);
});

test("a request whose write runs for 14 seconds gets a 500 without Retry-After", async () => {
  await using held = await createHeldWorld();
  const { store, advance, call } = held.world;
  const replying = call("POST", "/links", { body: { path: "spring" } });
  await held.begun;
  advance(10_000);
  advance(4_000);
  const { status, body, headers } = await replying;
  expect([status, body]).toEqual([500, { error: messages.outcome_unknown }]);
  expect(headers.has("retry-after")).toBe(false);
  held.release();
  // This write runs only after the blocked write.
  await store.write(async () => undefined);
  expect((await call("GET", "/links")).body.meta.count).toBe(1);
});

test("a write still queued after ten seconds never runs, and its request gets a 503", async () => {
  await using held = await createHeldWorld();
  const { store, advance, call, reported } = held.world;
  const before = await store.db.selectFrom("links").selectAll().execute();
  const first = call("POST", "/links", { body: { path: "first" } });
  await held.begun;
  const replying = [
    call("POST", "/links", { body: { path: "late" } }),
    call("POST", "/links/upsert", { body: { path: "late" } }),
    call("POST", "/ios_apps", { body: { ios_app: { bundle_id: "a.b", team_id: "TEAM000001" } } }),
    call("POST", "/projects", { key: held.world.master, body: { project: { name: "Late" } } }),
  ];
  await held.waitForTurns(1 + replying.length);
  advance(10_000);
  for (const { status, body, headers } of await Promise.all(replying)) {
    expect([status, body]).toEqual([503, { error: messages.not_begun }]);
    expect(headers.get("retry-after")).toBe("1");
  }
  held.release();
  expect((await first).status).toBe(201);
  await store.write(async () => undefined);
  expect(before).toEqual([]);
  expect((await call("GET", "/links")).body.links).toMatchObject([{ path: "first" }]);
  expect((await call("GET", "/ios_apps")).body.meta.count).toBe(0);
  expect(reported).toEqual([]);
});

/** Creates a world whose first write blocks all other writes until it is released. */
async function createHeldWorld() {
  const world = await createWorld();
  const { write } = world.store;
  const [begun, over, turns] = [createGate(), createGate(), createGate()];
  let queued = 0;
  let awaited = Infinity;
  const hold: typeof write = (work, options) => {
    queued += 1;
    const isFirst = queued === 1;
    const written = write(async (db) => {
      const result = await work(db);
      if (isFirst) {
        begun.open();
        await over.opened;
      }
      return result;
    }, options);
    if (queued >= awaited) turns.open();
    return written;
  };
  Object.assign(world.store, { write: hold });
  return {
    world,
    begun: begun.opened,
    release: over.open,
    waitForTurns: (count: number) => {
      awaited = count;
      if (queued >= count) turns.open();
      return turns.opened;
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}
