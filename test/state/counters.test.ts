import { beforeEach, describe, expect, test } from "vitest";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/store-place.ts";

/** Tests limits that all processes share. */

const at = openStateForEach();
const minute = 60_000;
const hour = 60 * minute;
/** Two processes. */
let one: State;
let other: State;

beforeEach(async () => {
  one = await at.open();
  other = await at.open();
});

const limits = [
  ["overwrite", 20, 10 * minute],
  ["approved_overwrite", 100, 10 * minute],
  ["pin_of_approval", 5, hour],
  ["pin_of_key", 20, hour],
  ["sign_in_by_key", 20, hour],
  ["sign_in_by_pin", 20, hour],
  ["host_request", 1000, hour],
] as const;
type Name = (typeof limits)[number][0];

/** Uses the counter in both processes in turn, and returns how many uses were allowed. */
async function takeMany(count: number, name: Name, subject = "subject"): Promise<number> {
  let allowed = 0;
  for (let turn = 0; turn < count; turn += 1) {
    const { counters } = turn % 2 === 0 ? one : other;
    if ((await counters.take({ [name]: subject })) !== undefined) allowed += 1;
  }
  return allowed;
}

describe.each(limits)("the counter %s", (name, most, window_ms) => {
  test(`allows ${most} uses in its window across all processes`, async () => {
    expect(await takeMany(most + 3, name)).toBe(most);
    expect(await one.counters.readLeft(name, "subject")).toEqual({
      left: 0,
      free_at: at.now + window_ms,
    });
    expect(await takeMany(1, name, "another subject")).toBe(1);
    at.now += window_ms - 1;
    expect(await takeMany(1, name)).toBe(0);
    at.now += 1;
    expect(await takeMany(1, name)).toBe(1);
  });
});

test("a counter stops counting a use after the use's window has passed", async () => {
  for (let turn = 0; turn < 4; turn += 1) {
    await takeMany(5, "pin_of_key");
    at.now += 10 * minute;
  }
  expect(await takeMany(1, "pin_of_key")).toBe(0);
  at.now += 20 * minute;
  expect(await takeMany(20, "pin_of_key")).toBe(5);
});

test("40 concurrent uses of a counter do not exceed its limit", async () => {
  const taken = await Promise.all(
    Array.from({ length: 40 }, (_, turn) =>
      (turn % 2 === 0 ? one : other).counters.take({ sign_in_by_pin: "203.0.113.1" }),
    ),
  );
  expect(taken.filter((each) => each !== undefined)).toHaveLength(20);
});

test("a counter no longer counts a refunded use but still counts the other uses", async () => {
  await takeMany(19, "sign_in_by_pin");
  const last = await one.counters.take({ sign_in_by_pin: "subject" });
  expect(await takeMany(1, "sign_in_by_pin")).toBe(0);
  await last?.giveBack();
  expect(await takeMany(3, "sign_in_by_pin")).toBe(1);
});

test("a counter still counts its uses after a restart", async () => {
  await takeMany(20, "pin_of_key");
  await Promise.all([one.close(), other.close()]);
  one = await at.open();
  other = await at.open();
  expect(await takeMany(1, "pin_of_key")).toBe(0);
});

test("a counter still counts its uses after the clock is set back", async () => {
  await takeMany(20, "overwrite");
  at.now -= hour;
  expect(await takeMany(1, "overwrite")).toBe(0);
});

test("uses of a counter are deleted after their window has passed", async () => {
  await takeMany(5, "sign_in_by_key");
  at.now += hour;
  await takeMany(1, "sign_in_by_key", "another subject");
  await one.removeEnded();
  const { db } = await at.openSql();
  const rows = await db.selectFrom("uses").select("subject").execute();
  expect(rows).toEqual([{ subject: "another subject" }]);
});
