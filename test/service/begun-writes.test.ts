import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { createWorld } from "../support/world.ts";

/** What a caller is told of a write whose end is not known in time. */

test("a write that has begun and not ended after ten seconds may be kept, as is told", async () => {
  await using world = await createWorld();
  const { write } = world.store;
  const steps: (() => void)[] = [];
  const begun = new Promise<void>((resolve) => steps.push(resolve));
  const held = new Promise<void>((resolve) => steps.push(resolve));
  const holdAll: typeof write = (work, options) =>
    write(async (db) => {
      const result = await work(db);
      steps[0]?.();
      await held;
      return result;
    }, options);
  Object.assign(world.store, { write: holdAll });
  const asked = world.call("POST", "/links", { body: { path: "spring" } });
  await begun;
  world.advance(10_000);
  const { status, body } = await asked;
  expect([status, body]).toEqual([503, { error: messages.outcome_unknown }]);
  steps[1]?.();
  // The next write waits for this one.
  await write(async () => undefined);
  expect((await world.call("GET", "/links")).body.meta.count).toBe(1);
});
