import { expect, test } from "vitest";
import { createDeferredVisits } from "../../src/host/deferred-visits.ts";
import { StoreBusy } from "../../src/sql/faults.ts";
import { agents } from "../attribution/agents.ts";
import { createAlarms, createGate } from "../support/clock.ts";
import { openInstallWorld, openLinkHost } from "../support/link-host.ts";

/** How visits are stored for matching installs, a few at a time. */

const visit = (number: number) => ({
  project_id: "p",
  id: `visit-${number}`,
  link_id: "l",
  query: "",
  address: null,
  is_shared: 0 as const,
  whole: "w",
  marks: "{}",
  ends_at: number,
});

function createTestClock() {
  let now = 0;
  const alarms = createAlarms({ monotonic: () => now });
  const reported: unknown[] = [];
  return {
    reported,
    setAlarm: alarms.setAlarm,
    report: (error: unknown) => reported.push(error),
    pass: async (milliseconds: number) => {
      now += milliseconds;
      alarms.ringDue();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test("the page script's data replaces the request's data, whichever arrives first", async () => {
  await using world = await openInstallWorld();
  const setup = createTestClock();
  const { note } = createDeferredVisits({ ...setup, store: world.world.store });
  const noted = [1, 2, 3].map((number) => note({ visit: visit(number), isWhole: false }));
  noted.push(note({ visit: { ...visit(3), query: "ref=anna" }, isWhole: true }));
  noted.push(note({ visit: visit(3), isWhole: false }));
  await setup.pass(50);
  await Promise.all(noted);
  const rows = await world.listRows();
  expect(rows.map(({ id, query }) => [id, query])).toEqual([
    ["visit-1", ""],
    ["visit-2", ""],
    ["visit-3", "ref=anna"],
  ]);
});

test("visits kept for later installs are stored when the process stops", async () => {
  await using world = await openInstallWorld();
  const visits = createDeferredVisits({ ...createTestClock(), store: world.world.store });
  void visits.note({ visit: visit(1), isWhole: false });
  await visits.close();
  expect((await world.listRows()).map(({ id }) => id)).toEqual(["visit-1"]);
});

test("visits are written in one batch at a time, and at most 2,000 visits are queued", async () => {
  const setup = createTestClock();
  const [over, sizes] = [createGate(), [] as number[]];
  const store = {
    write: async () => {
      sizes.push(sizes.length);
      await over.opened;
      throw new StoreBusy("away");
    },
  };
  const { note } = createDeferredVisits({ ...setup, store });
  const first = note({ visit: visit(0), isWhole: false });
  await setup.pass(50);
  let dropped = 0;
  for (let number = 1; number <= 3000; number += 1) {
    void note({ visit: visit(number), isWhole: false }).then(() => (dropped += 1));
  }
  await setup.pass(50);
  expect([sizes.length, dropped]).toEqual([1, 1000]);
  over.open();
  await first;
  await setup.pass(0);
  expect(sizes).toHaveLength(2);
  // An outage is reported once, however many pages are opened meanwhile.
  expect(setup.reported).toHaveLength(1);
});

test("a page whose visit cannot be stored is served without a script", async () => {
  const reported: unknown[] = [];
  await using host = await openLinkHost({
    wrap: (store) => ({ ...store, write: () => Promise.reject(new StoreBusy("away")) }),
    report: (error) => reported.push(error),
  });
  const ios_app = { bundle_id: "com.example.shop", team_id: "ABCDE12345", app_store_id: "1" };
  await host.add("link", { path: "spring", ios_app, ios_deferred_deep_linking_enabled: true });
  const page = await host.visit("/spring", { agent: agents.safari26 });
  expect([page.status, page.text.includes("<script")]).toEqual([200, false]);
  expect(reported).toEqual([expect.any(StoreBusy)]);
});
