import { expect, test } from "vitest";
import { createKeyUses } from "../../src/service/keys.ts";
import { listKeys } from "../../src/store/keys.ts";
import { createAlarms } from "../support/clock.ts";
import { createWorld } from "../support/world.ts";

/** Tests `last_used_at` of keys, which is exact to five minutes. */

const minute = 60_000;

async function openUses() {
  const world = await createWorld();
  const { clock, store } = world;
  const alarms = createAlarms(clock);
  let writes = 0;
  let isBroken = false;
  const write: typeof store.write = (work, options) => {
    writes += 1;
    return isBroken ? Promise.reject(new Error("the disk is full")) : store.write(work, options);
  };
  const uses = createKeyUses({ store: { write }, clock, setAlarm: alarms.setAlarm });
  const [key] = await listKeys(store.db);
  const id = key?.id ?? "";
  return {
    use: async () => {
      uses.note(id);
      world.advance(1000);
      alarms.ringDue();
      await uses.close();
    },
    note: () => uses.note(id),
    close: uses.close,
    read: async () => (await listKeys(store.db)).find((each) => each.id === id)?.last_used_at,
    breakStore: (isOver: boolean) => {
      isBroken = isOver;
    },
    countWrites: () => writes,
    world,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

test("the time of a key's last use is written at most once every five minutes", async () => {
  await using at = await openUses();
  expect(await at.read()).toBeNull();
  const first = at.world.clock.now();
  for (let turn = 0; turn < 100; turn += 1) await at.use();
  expect([at.countWrites(), await at.read()]).toEqual([1, first]);
  at.world.advance(5 * minute);
  const later = at.world.clock.now();
  await at.use();
  expect([at.countWrites(), await at.read()]).toEqual([2, later]);
});

test("closing the service writes only the last-use times that are not yet saved", async () => {
  await using at = await openUses();
  await at.close();
  expect(at.countWrites()).toBe(0);
  const now = at.world.clock.now();
  at.note();
  await at.close();
  expect([at.countWrites(), await at.read()]).toEqual([1, now]);
});

test("a failed write of a key's last use is retried the next time the key is used", async () => {
  await using at = await openUses();
  at.breakStore(true);
  await at.use();
  expect([at.countWrites(), await at.read()]).toEqual([1, null]);
  at.breakStore(false);
  const now = at.world.clock.now();
  await at.use();
  expect(await at.read()).toBe(now);
});
