import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { createGate } from "../support/clock.ts";
import { createWorld } from "../support/world.ts";

/** What a caller is told of a write whose end is not known in time. */

test("a write that has begun has four seconds more to end, after ten", async () => {
  await using held = await createHeldWorld();
  const { advance, call } = held.world;
  const asked = call("POST", "/links", { body: { path: "spring" } });
  await held.begun;
  advance(10_000);
  advance(3_999);
  held.letGo();
  expect((await asked).status).toBe(201);
});

test("a write that may have been kept gets 500 without Retry-After", async () => {
  await using held = await createHeldWorld();
  const { store, advance, call } = held.world;
  const asked = call("POST", "/links", { body: { path: "spring" } });
  await held.begun;
  advance(10_000);
  advance(4_000);
  const { status, body, headers } = await asked;
  expect([status, body]).toEqual([500, { error: messages.outcome_unknown }]);
  expect(headers.has("retry-after")).toBe(false);
  held.letGo();
  // The next write waits for this one.
  await store.write(async () => undefined);
  expect((await call("GET", "/links")).body.meta.count).toBe(1);
});

test("one whose turn has not come after ten seconds is never done, as is told", async () => {
  await using held = await createHeldWorld();
  const { store, advance, call, reported } = held.world;
  const before = await store.db.selectFrom("links").selectAll().execute();
  const first = call("POST", "/links", { body: { path: "first" } });
  await held.begun;
  const asked = [
    call("POST", "/links", { body: { path: "late" } }),
    call("POST", "/links/upsert", { body: { path: "late" } }),
    call("POST", "/ios_apps", { body: { ios_app: { bundle_id: "a.b", team_id: "TEAM000001" } } }),
    call("POST", "/projects", { key: held.world.master, body: { project: { name: "Late" } } }),
  ];
  await held.waitForTurns(1 + asked.length);
  advance(10_000);
  for (const { status, body, headers } of await Promise.all(asked)) {
    expect([status, body]).toEqual([503, { error: messages.not_begun }]);
    expect(headers.get("retry-after")).toBe("1");
  }
  held.letGo();
  expect((await first).status).toBe(201);
  await store.write(async () => undefined);
  expect(before).toEqual([]);
  expect((await call("GET", "/links")).body.links).toMatchObject([{ path: "first" }]);
  expect((await call("GET", "/ios_apps")).body.meta.count).toBe(0);
  expect(reported).toEqual([]);
});

/** A world whose first write ends when it is let, and all others wait for it. */
async function createHeldWorld() {
  const world = await createWorld();
  const { write } = world.store;
  const [begun, over, turns] = [createGate(), createGate(), createGate()];
  let asked = 0;
  let awaited = Infinity;
  const hold: typeof write = (work, options) => {
    asked += 1;
    const isFirst = asked === 1;
    const written = write(async (db) => {
      const result = await work(db);
      if (isFirst) {
        begun.open();
        await over.opened;
      }
      return result;
    }, options);
    if (asked >= awaited) turns.open();
    return written;
  };
  Object.assign(world.store, { write: hold });
  return {
    world,
    begun: begun.opened,
    letGo: over.open,
    /** Until so many have asked to write. */
    waitForTurns: (count: number) => {
      awaited = count;
      if (asked >= count) turns.open();
      return turns.opened;
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}
