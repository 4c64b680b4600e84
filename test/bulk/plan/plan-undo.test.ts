import { describe, expect, test } from "vitest";
import { PlanExpired } from "../../../src/bulk/bulk-errors.ts";
import type { Bulk } from "../../../src/bulk/bulk.ts";
import type { Owner } from "../../../src/bulk/owner.ts";
import type { Job } from "../../../src/state/jobs.ts";
import type { Plan, PlanOperation } from "../../../src/state/plans.ts";
import type { State } from "../../../src/state/state.ts";
import { openForEach } from "../../support/open-for.ts";
import type { World } from "../../support/world.ts";
import { openBulk, type TimelessBulk } from "../timeless-bulk.ts";

/** Tests undoing jobs, and plans that have expired. */

let world: World;
let timeless: TimelessBulk;
let state: State;
let bulk: Bulk;
let owner: Owner;
let now: number;

openForEach(
  () => {
    now = Date.UTC(2026, 0, 15, 12);
    return openBulk({ clock: { now: () => now, monotonic: () => now } });
  },
  (opened) => {
    timeless = opened;
    ({ world, state, bulk, owner } = timeless);
  },
);

async function plan(operation: PlanOperation, rows: readonly object[]): Promise<Plan> {
  return await bulk.plan({ operation, source: { rows } }, owner);
}

async function apply(made: Plan): Promise<Job> {
  const job = await timeless.untilRest(bulk.apply(made, owner));
  expect(job).toMatchObject({ state: "done", counts: { rejected: 0, unknown: 0, left: 0 } });
  return job;
}

async function undo(job: Job): Promise<Plan> {
  return await bulk.plan({ undo: job }, owner);
}

async function makeLink(path: string, more: object = {}): Promise<string> {
  const { body } = await world.call("POST", "/links", { body: { path, ...more } });
  return body.id;
}

async function listPaths(): Promise<Record<string, string>> {
  const { body } = await world.call("GET", "/links", { query: "limit=100" });
  const paths = body.links.map(({ id, path }: { id: string; path: string }) => [id, path]);
  return Object.fromEntries(paths);
}

const listMessages = async (made: Plan) =>
  (await bulk.listRows(made, { limit: 100 })).map(({ action, message }) => [action, message]);

describe("an undo of a job", () => {
  test("frees a path before moving another link back to that path", async () => {
    const first = await makeLink("a");
    const second = await makeLink("c");
    const before = await listPaths();
    const job = await apply(
      await plan("update", [
        { id: first, path: "b" },
        { id: second, path: "a" },
      ]),
    );
    expect(await listPaths()).toEqual({ [first]: "b", [second]: "a" });
    const undoing = await undo(job);
    expect(undoing.counts).toMatchObject({ update: 2, conflict: 0 });
    await apply(undoing);
    expect(await listPaths()).toEqual(before);
  });

  test("can itself be undone", async () => {
    const id = await makeLink("a", { name: "Old", url: "https://x.example/old" });
    const changes = { name: "New", url: "https://x.example/new", social_title: "Set" };
    const job = await apply(await plan("update", [{ id, ...changes }]));
    const done = (await world.call("GET", `/links/${id}`)).body;
    const undone = await apply(await undo(job));
    expect((await world.call("GET", `/links/${id}`)).body).toMatchObject({
      name: "Old",
      url: "https://x.example/old",
      social_title: null,
    });
    await apply(await undo(undone));
    expect((await world.call("GET", `/links/${id}`)).body).toEqual(done);
  });

  test("deletes the links created by the job, except links edited since then", async () => {
    const job = await apply(await plan("upsert", [{ path: "a" }, { path: "b" }, { path: "c" }]));
    const [id] = Object.entries(await listPaths()).find(([, path]) => path === "b") ?? [];
    await world.call("PATCH", `/links/${id}`, { body: { social_title: "Mine" } });
    const undoing = await undo(job);
    expect(undoing.counts).toMatchObject({ delete: 2, conflict: 1 });
    expect(await listMessages(undoing)).toContainEqual([
      "conflict",
      "social_title changed after the job",
    ]);
    await apply(undoing);
    expect(Object.values(await listPaths())).toEqual(["b"]);
  });

  test("skips a link that was moved again after the job", async () => {
    const id = await makeLink("a");
    const job = await apply(await plan("update", [{ id, path: "b" }]));
    await world.call("PATCH", `/links/${id}`, { body: { path: "mine" } });
    const undoing = await undo(job);
    expect(undoing.counts).toMatchObject({ update: 0, conflict: 1 });
    await apply(undoing);
    expect(await listPaths()).toEqual({ [id]: "mine" });
  });

  test("ignores rows that the job did not apply", async () => {
    const [kept, edited] = [await makeLink("a"), await makeLink("b")];
    const made = await plan("update", [
      { id: kept, name: "New" },
      { id: edited, name: "New" },
    ]);
    await world.call("PATCH", `/links/${edited}`, { body: { name: "Mine" } });
    const job = await timeless.untilRest(bulk.apply(made, owner));
    expect(job.counts).toMatchObject({ done: 1, rejected: 1 });
    const undoing = await undo(job);
    expect(undoing.counts).toMatchObject({ update: 1, conflict: 0 });
    expect((await bulk.listRows(undoing, { limit: 9 })).map((row) => row.link_id)).toEqual([kept]);
  });
});

describe("a bulk plan", () => {
  const hour_ms = 60 * 60_000;

  test("cannot be applied after it has expired", async () => {
    const made = await plan("upsert", [{ path: "a" }]);
    now = made.expires_at;
    await expect(bulk.apply(made, owner)).rejects.toThrow(PlanExpired);
    expect(await listPaths()).toEqual({});
    expect(await state.jobs.findOfPlan(made.id)).toBeUndefined();
  });

  test("whose job has started can be resumed even after the plan has expired", async () => {
    const made = await plan("upsert", [{ path: "a" }, { path: "b" }]);
    const job = await state.jobs.open(made);
    now += 72 * hour_ms;
    await state.removeEnded();
    const known = await bulk.findPlan(made.id, owner);
    expect(known).toEqual(made);
    expect(await apply(known ?? made)).toMatchObject({ id: job.id, counts: { done: 2 } });
  });

  test("that was never applied is deleted after it expires", async () => {
    const made = await plan("upsert", [{ path: "a" }]);
    now += 2 * hour_ms;
    await state.removeEnded();
    expect(await bulk.findPlan(made.id, owner)).toBeUndefined();
    expect(await bulk.listRows(made, { limit: 9 })).toEqual([]);
  });

  test("that deletes links can be resumed after a crash at any row", async () => {
    for (const killedAt of [1, 6, 11, 12]) {
      const ids: string[] = [];
      for (let index = 0; index < 12; index += 1) ids.push(await makeLink(`p${index}`));
      const made = await plan(
        "delete",
        ids.map((id) => ({ id })),
      );
      const run = { id: (await state.jobs.open(made)).id, runner: "killed" };
      await state.jobs.take(run);
      for (const [position, id] of ids.slice(0, killedAt).entries()) {
        await state.jobs.noteSent(run, position);
        await world.call("DELETE", `/links/${id}`);
        // The result of the last row was not saved.
        if (position + 1 === killedAt) break;
        await state.jobs.noteEnd(run, position, { status: "done", link_id: id });
      }
      await state.jobs.release(run, "interrupted");
      expect(await apply(made)).toMatchObject({ id: run.id, counts: { done: 12 } });
      expect(await listPaths()).toEqual({});
    }
  });
});
