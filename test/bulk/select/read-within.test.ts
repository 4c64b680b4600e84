import { expect, onTestFinished, test } from "vitest";
import type { ServerAccess } from "../../../src/bulk/owner.ts";
import { limitTime } from "../../../src/bulk/select/limit-time.ts";
import { readWithin } from "../../../src/bulk/select/select-links.ts";
import type { FilterInput } from "../../../src/contract/filters.ts";
import { createTestClock } from "../../support/clock.ts";
import { openPlanner } from "../planner.ts";

/** Tests how much of a long list a single call reads from a slow server. */

async function openSlowList(count: number) {
  const planner = await openPlanner();
  onTestFinished(() => planner[Symbol.asyncDispose]());
  const made = await planner.makeMany(count, "p");
  const clock = createTestClock();
  const read = async (perRequest_ms: number, filters: readonly FilterInput[] = []) => {
    const paths: string[] = [];
    const call: ServerAccess["call"] = (...asked) => {
      clock.advance(perRequest_ms);
      return planner.owner.call(...asked);
    };
    const { signal } = new AbortController();
    const inTime = limitTime({ call, signal, clock, sleep: clock.sleep });
    const end = await readWithin(inTime, filters, (links) => {
      paths.push(...links.flatMap(({ path }) => path ?? []));
    });
    inTime.stop();
    return { ...end, paths };
  };
  return { made, read };
}

test("a list read that runs out of time returns its links and where to continue", async () => {
  const { made, read } = await openSlowList(6000);
  const first = await read(250);
  expect(first).toMatchObject({ isWhole: false, unread: 0, reached: expect.any(String) });
  expect(first.paths.length).toBeGreaterThan(0);
  expect(first.paths).toEqual(made.slice(0, first.paths.length));

  const value = first.reached ?? "";
  const rest = await read(0, [{ field: "created_at", condition: "gteq", value }]);
  expect(rest.isWhole).toBe(true);
  expect(rest.paths).toEqual(made.slice(-rest.paths.length));
  expect(rest.paths.length).toBeLessThan(made.length);
  expect(first.paths.length + rest.paths.length).toBeGreaterThanOrEqual(made.length);
});

test("a list read returns its links when no time is left to find the next page", async () => {
  const { made, read } = await openSlowList(300);
  const { paths, ...end } = await read(6000);
  expect(end).toEqual({ isWhole: false, unread: 0, reached: undefined });
  expect(paths.length).toBeGreaterThanOrEqual(100);
  expect(paths).toEqual(made.slice(0, paths.length));
});

test("a list read without any page after 20 s fails with advice", async () => {
  const { read } = await openSlowList(300);
  await expect(read(25_000)).rejects.toMatchObject({
    code: "timed_out",
    message: expect.stringContaining("within 20 s, and no link was read. Narrower filters"),
    facts: { effect: "none", retry: "later" },
  });
});
