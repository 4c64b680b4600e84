import { createHook } from "node:async_hooks";
import { expect, test } from "vitest";
import { keepTick } from "../../../src/commands/serving/tune-node.ts";
import { collectGarbage } from "../../support/measure-held.ts";

test("one tick is kept, so that V8 does not forget what ticks are like", async () => {
  const held = listTicksOf(keepTick);
  const passing = listTicksOf(() => process.nextTick(() => undefined));
  await collectGarbage();
  expect(held.map((tick) => tick.deref() !== undefined)).toEqual([true]);
  expect(passing.map((tick) => tick.deref() !== undefined)).toEqual([false]);
});

/** What `process.nextTick` makes while this works; held by nobody here. */
function listTicksOf(work: () => void): readonly WeakRef<object>[] {
  const ticks: WeakRef<object>[] = [];
  const hook = createHook({
    init: (_id, type, _trigger, resource) => {
      if (type === "TickObject") ticks.push(new WeakRef(resource));
    },
  }).enable();
  work();
  hook.disable();
  return ticks;
}
