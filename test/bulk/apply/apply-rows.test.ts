import { describe, expect, test } from "vitest";
import type { Owner } from "../../../src/bulk/owner.ts";
import type { PlanOperation } from "../../../src/state/plans.ts";
import { openForEach } from "../../support/open-for.ts";
import { openPlanner, type Planner } from "../planner.ts";

/** Plans and their jobs, against the real service and a real state file. */

let planner: Planner;

openForEach(openPlanner, (opened) => (planner = opened));

const planList = async (operation: PlanOperation, rows: readonly object[]) =>
  (await planner.plan({ operation, source: { rows } })).plan;

const listUrls = async () =>
  new Map((await planner.listLinks()).map(({ path, url }) => [path, url]));

describe("a plan made from rows", () => {
  test("predicts how many links its job will create, update and leave unchanged", async () => {
    await planner.make({ path: "a", url: "https://x.example/1" });
    await planner.make({ path: "b", url: "https://x.example/2" });
    const rows = [
      { path: "a", url: "https://x.example/1" },
      { path: "b", url: "https://x.example/new" },
      { path: "c", url: "https://x.example/3" },
    ];
    const plan = await planList("upsert", rows);
    expect(plan.counts).toMatchObject({ create: 1, update: 1, unchanged: 1, conflict: 0 });
    const job = await planner.run(plan);
    expect(job).toMatchObject({ state: "done", counts: { done: 2, left: 0, unknown: 0 } });
    expect(await listUrls()).toEqual(new Map(rows.map(({ path, url }) => [path, url])));
    const again = await planList("upsert", rows);
    expect(again.counts).toMatchObject({ create: 0, update: 0, unchanged: 3 });
  });

  test("is applied without the rows whose links changed after planning", async () => {
    const made = await planner.make({ path: "a", url: "https://x.example/1" });
    const rows = ["a", "b", "c"].map((path) => ({ path, url: "https://x.example/2" }));
    const plan = await planList("upsert", rows);
    await planner.world.call("PATCH", `/links/${made.id}`, { body: { name: "Mine" } });
    await planner.make({ path: "b", url: "https://x.example/mine" });
    const job = await planner.run(plan);
    expect(job.counts).toEqual({ done: 1, rejected: 2, unknown: 0, left: 0 });
    const receipts = await planner.bulk.listReceipts(job, { limit: 10 });
    expect(receipts.map(({ status, message }) => [status, message])).toEqual([
      ["rejected", "plan_changed: name changed after the plan was made"],
      ["rejected", "plan_changed: a link now has this path"],
      ["done", null],
    ]);
  });

  test("lets other callers' writes go first while it is applied", async () => {
    await planner.make({ path: "a", url: "https://x.example/1" });
    const rows = ["a", "b"].map((path) => ({ path, url: "https://x.example/2" }));
    const plan = await planList("upsert", rows);
    const writes = new Map<string, unknown>();
    const { owner } = planner;
    const call: Owner["call"] = (endpoint, input, signal, options) => {
      if (endpoint.method !== "GET") writes.set(endpoint.tool, options?.isPatient);
      return owner.call(endpoint, input, signal, options);
    };
    await planner.run(plan, { ...owner, call });
    expect(Object.fromEntries(writes)).toEqual({ update_link: true, upsert_link: true });
  });
});

describe("a plan made from filters", () => {
  test("changes every matching link on all pages and no other link", async () => {
    await planner.makeMany(115, "spring");
    await planner.makeMany(115, "other");
    const filters = [{ field: "name", condition: "cont", value: "SPRING" }] as const;
    const url = "https://x.example/spring";
    const wanted = { operation: "update", filters, changes: { url } } as const;
    const { plan } = await planner.plan(wanted);
    expect(plan.counts).toMatchObject({ update: 115, unchanged: 0 });
    expect((await planner.run(plan)).counts).toMatchObject({ done: 115, rejected: 0 });
    const { rows } = await planner.plan({ operation: "delete", filters: [], changes: {} });
    const changed = rows.filter(({ before }) => before?.["url"] === url);
    expect(new Set(changed.map(({ path }) => path?.replace(/\d+/, "")))).toEqual(
      new Set(["spring"]),
    );
    expect(changed).toHaveLength(115);
    expect((await planner.plan(wanted)).plan.counts).toMatchObject({ update: 0, unchanged: 115 });
  });
});
