import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { prepareFirstStart } from "../../../src/app/data/first-start.ts";
import { openStore, type Store } from "../../../src/store/store.ts";
import { createTestClock, neverRing } from "../../support/clock.ts";
import { createPlace } from "../../support/store-place.ts";

/** Two processes that start for the first time with the same data. */
test("a first start creates nothing if another process has just created a project", async () => {
  await using place = await createPlace();
  const store = await openStore(await place.open(), neverRing);
  const clock = createTestClock();
  const given = { clock, random: { bytes: randomBytes } };
  const start = (name: string, from = store) =>
    prepareFirstStart({
      store: from,
      stateTables: undefined,
      keyFile: join(place.folder, name),
      given,
    });
  // Both starts have found no project before one of them writes.
  const late: Store = {
    ...store,
    write: async (work, options) => {
      expect(await start("first.key")).toBe(true);
      return store.write(work, options);
    },
  };
  expect(await start("second.key", late)).toBe(false);
  expect(existsSync(join(place.folder, "first.key"))).toBe(true);
  expect(existsSync(join(place.folder, "second.key"))).toBe(false);
  await store.close();
});
