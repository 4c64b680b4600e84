import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createBulk, type Bulk } from "../../src/bulk/bulk.ts";
import { OtherProject } from "../../src/bulk/refusals.ts";
import type { Owner } from "../../src/bulk/owner.ts";
import type { Client } from "../../src/client/client.ts";
import { openState, type State } from "../../src/state/state.ts";
import { createTraveller } from "../client/traveller.ts";
import { createWorld, type World } from "../support/world.ts";

/** A plan's life: made, applied, stopped half way, and gone on with. */

let world: World;
let state: State;
let bulk: Bulk;
let owner: Owner;
let reported: unknown[];
/** Called before each call of the API; what it throws is how the call ends. */
let interfere: (tool: string) => void;

const random = { bytes: (count: number) => randomBytes(count) };
const clock = { now: () => Date.UTC(2026, 0, 15, 12), monotonic: () => 0 };

function open(): Bulk {
  return createBulk({
    openState: () => Promise.resolve(state),
    clock,
    random,
    sleep: (milliseconds, signal) => setTimeout(milliseconds, undefined, { signal }),
    spacing_ms: 0,
    report: (error) => `reference-${reported.push(error)}`,
  });
}

beforeEach(async () => {
  reported = [];
  interfere = () => {};
  world = await createWorld();
  state = await openState(join(dirname(world.file), "state.db"), { clock, random });
  const { client } = createTraveller({ world });
  const call: Client["call"] = (endpoint, input, signal) => {
    interfere(endpoint.tool);
    return client.call(endpoint, input, signal);
  };
  owner = { key_print: "key", origin: "here", call };
  bulk = open();
});
afterEach(async () => {
  await bulk.close();
  await state.close();
  await world[Symbol.asyncDispose]();
});

const makeRows = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ path: `p${index}`, url: "https://x.example/" }));

async function planUpserts(count: number) {
  const source = { rows: makeRows(count) };
  return (await bulk.plan({ operation: "upsert", source }, owner)).plan;
}

const countLinks = async () => (await world.call("GET", "/links")).body.meta.count;

describe("a job", () => {
  test("applies its plan once, however often it is asked to", async () => {
    const plan = await planUpserts(20);
    const [job, same] = [await bulk.apply(plan, owner), await bulk.apply(plan, owner)];
    expect(same.id).toBe(job.id);
    const ended = await bulk.wait(job, 60_000);
    expect(ended).toMatchObject({ state: "done", counts: { done: 20, left: 0 } });
    expect(await bulk.apply(plan, owner)).toMatchObject({ id: job.id, state: "done" });
    expect(await countLinks()).toBe(20);
    expect(reported).toEqual([]);
  });

  test("stops where the deployment fails, and goes on from there when asked again", async () => {
    const plan = await planUpserts(20);
    let calls = 0;
    interfere = (tool) => {
      if (tool === "upsert_link" && (calls += 1) === 8) throw new Error("the process was killed");
    };
    const job = await bulk.wait(await bulk.apply(plan, owner), 60_000);
    expect(job).toMatchObject({ state: "interrupted", counts: { done: 7, unknown: 1, left: 12 } });
    expect(reported).toHaveLength(1);
    interfere = () => {};
    const ended = await bulk.wait(await bulk.apply(plan, owner), 60_000);
    expect(ended).toMatchObject({ id: job.id, state: "done", counts: { done: 20, left: 0 } });
    expect(await countLinks()).toBe(20);
  });

  test("that is cancelled begins nothing more, and may be gone on with", async () => {
    const plan = await planUpserts(40);
    let job = await bulk.apply(plan, owner);
    let calls = 0;
    interfere = (tool) => {
      if (tool === "upsert_link" && (calls += 1) === 5) void bulk.cancel(job);
    };
    job = await bulk.wait(job, 60_000);
    expect(job.state).toBe("cancelled");
    expect(job.counts.left).toBeGreaterThan(0);
    expect(job.counts.done + job.counts.left).toBe(40);
    expect(await countLinks()).toBe(job.counts.done);
    interfere = () => {};
    // Only for somebody who knows that it was cancelled.
    expect((await bulk.apply(plan, owner)).state).toBe("cancelled");
    expect(await bulk.wait(await bulk.apply(plan, owner, job), 60_000)).toMatchObject({
      state: "done",
      counts: { done: 40 },
    });
  });

  test("of another key is told to nobody", async () => {
    const plan = await planUpserts(1);
    const job = await bulk.apply(plan, owner);
    const stranger = { ...owner, key_print: "other" };
    expect(await bulk.findPlan(plan.id, stranger)).toBeUndefined();
    expect(await bulk.findJob(job.id, stranger)).toBeUndefined();
    expect((await bulk.findJob(job.id, owner))?.id).toBe(job.id);
    await bulk.wait(job, 60_000);
  });

  test("is not gone on with where the key reaches another project by now", async () => {
    for (const { path } of makeRows(3)) await world.call("POST", "/links", { body: { path } });
    const plan = await planUpserts(3);
    const other = await world.addProject({ subdomain: "other" });
    const key = await world.addKey({ project: other });
    const { client } = createTraveller({ world, key });
    await expect(bulk.apply(plan, { ...owner, call: client.call })).rejects.toThrow(OtherProject);
    expect((await world.call("GET", "/links", { key })).body.meta.count).toBe(0);
  });
});
