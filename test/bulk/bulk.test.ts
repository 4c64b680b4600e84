import { describe, expect, test } from "vitest";
import type { Bulk } from "../../src/bulk/bulk.ts";
import type { Owner } from "../../src/bulk/owner.ts";
import { openForEach } from "../support/open-for.ts";
import type { World } from "../support/world.ts";
import { openBulk, type TimelessBulk } from "./timeless-bulk.ts";

/** Tests making, applying, interrupting and resuming a plan. */

let world: World;
let timeless: TimelessBulk;
let bulk: Bulk;
let owner: Owner;
/** Called before each call of the API. If it throws, the call fails. */
let interfere: (tool: string) => void;

const intercept =
  (call: Owner["call"]): Owner["call"] =>
  (endpoint, input, signal) => {
    interfere(endpoint.tool);
    return call(endpoint, input, signal);
  };

openForEach(
  () => openBulk({ intercept }),
  (opened) => {
    interfere = () => {};
    timeless = opened;
    ({ world, bulk, owner } = timeless);
  },
);

const makeRows = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ path: `p${index}`, url: "https://x.example/" }));

async function planUpserts(count: number) {
  const source = { rows: makeRows(count) };
  return await bulk.plan({ operation: "upsert", source }, owner);
}

const countLinks = async () => (await world.call("GET", "/links")).body.meta.count;

describe("a bulk job", () => {
  test("runs only once, even if apply is called several times", async () => {
    const plan = await planUpserts(20);
    const [job, same] = [await bulk.apply(plan, owner), await bulk.apply(plan, owner)];
    expect(same.id).toBe(job.id);
    const ended = await timeless.untilRest(job);
    expect(ended).toMatchObject({ state: "done", counts: { done: 20, left: 0 } });
    expect(await bulk.apply(plan, owner)).toMatchObject({ id: job.id, state: "done" });
    expect(await countLinks()).toBe(20);
    expect(timeless.reported).toEqual([]);
  });

  test("that has already ended is returned by wait() immediately", async () => {
    const begun = await bulk.apply(await planUpserts(2), owner);
    await timeless.untilRest(begun);
    // Time does not pass here, so real waiting would never end.
    const waited = bulk.wait({ ...begun, state: "running" }, 60_000);
    expect(await waited).toMatchObject({ state: "done", counts: { done: 2 } });
  });

  test("is interrupted by a failed request and resumes at the row that failed", async () => {
    const plan = await planUpserts(20);
    let calls = 0;
    interfere = (tool) => {
      if (tool === "upsert_link" && (calls += 1) >= 8) throw new Error("the process was killed");
    };
    const job = await timeless.untilRest(bulk.apply(plan, owner));
    expect(job).toMatchObject({ state: "interrupted", counts: { done: 7 } });
    const { unknown, left } = job.counts;
    // The number of rows that ran at the same time may vary.
    expect([unknown > 0, unknown <= 8, unknown + left]).toEqual([true, true, 13]);
    expect(timeless.reported.splice(0)).toHaveLength(1);
    interfere = () => {};
    const ended = await timeless.untilRest(bulk.apply(plan, owner));
    expect(ended).toMatchObject({ id: job.id, state: "done", counts: { done: 20, left: 0 } });
    expect(await countLinks()).toBe(20);
  });

  test("cancelled twice is not resumed by a caller that saw only one cancellation", async () => {
    const plan = await planUpserts(40);
    let job = await bulk.apply(plan, owner);
    let calls = 0;
    interfere = (tool) => {
      if (tool === "upsert_link" && (calls += 1) % 5 === 0) void bulk.cancel(job);
    };
    job = await timeless.untilRest(job);
    const first = job;
    world.advance(1000);
    job = await timeless.untilRest(bulk.apply(plan, owner, first));
    expect([first.state, job.state]).toEqual(["cancelled", "cancelled"]);
    const sent = calls;
    expect(await timeless.untilRest(bulk.apply(plan, owner, first))).toEqual(job);
    expect(calls).toBe(sent);
    interfere = () => {};
    expect(await timeless.untilRest(bulk.apply(plan, owner, job))).toMatchObject({ state: "done" });
  });
});
