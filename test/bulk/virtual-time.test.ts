import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createWorld } from "../support/world.ts";
import { createVirtualTime } from "./simulator/virtual-time.ts";

/** More rounds of the event loop than virtual time waits for idle work. */
const turns = 50;

test("virtual time does not advance while a write is running", async () => {
  await using world = await createWorld();
  const time = createVirtualTime(() => undefined, world.isBusy);
  const writing = world.store.write(async () => {
    for (let turn = 0; turn < turns; turn += 1) await setImmediate();
    return "written";
  });
  const sleeping = time.sleep(1).then(() => "slept");
  expect(await time.drive(Promise.race([writing, sleeping]))).toBe("written");
  expect(await time.drive(sleeping)).toBe("slept");
});
