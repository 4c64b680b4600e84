import { expect, test } from "vitest";
import type { Asking } from "../../../src/bulk/owner.ts";
import { readWithin } from "../../../src/bulk/select/read-within.ts";
import type { FilterInput } from "../../../src/contract/filters.ts";
import { openPlanner } from "../planner.ts";

/** What one call reads of a long list where the deployment is slow. */

test("what was read in time counts, and all the rest is read where it says to go on", async () => {
  await using planner = await openPlanner();
  const made = await planner.makeMany(2500, "p");
  let now = 0;
  let perRequest_ms = 200;
  const call: Asking["call"] = (...asked) => {
    now += perRequest_ms;
    return planner.owner.call(...asked);
  };
  const read = async (filters: readonly FilterInput[]) => {
    const paths: string[] = [];
    const asking = { call, signal: new AbortController().signal, clock: { monotonic: () => now } };
    const end = await readWithin(asking, filters, (links) => {
      paths.push(...links.flatMap(({ path }) => path ?? []));
    });
    return { ...end, paths };
  };
  const first = await read([]);
  expect(first).toMatchObject({ isWhole: false, unread: 0, reached: expect.any(String) });
  expect(first.paths.length).toBeGreaterThan(0);
  expect(first.paths).toEqual(made.slice(0, first.paths.length));

  perRequest_ms = 0;
  const value = first.reached ?? "";
  const rest = await read([{ field: "created_at", condition: "gteq", value }]);
  expect(rest.isWhole).toBe(true);
  expect([...first.paths, ...rest.paths]).toEqual(made);
});
