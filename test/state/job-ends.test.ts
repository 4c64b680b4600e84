import { beforeEach, expect, test } from "vitest";
import { lease_ms } from "../../src/state/job-leases.ts";
import type { Job } from "../../src/state/jobs.ts";
import type { PlanRow } from "../../src/state/plans.ts";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/state-folder.ts";

/** What webhooks are told of jobs that are cancelled, whoever runs them by then. */

const at = openStateForEach();
let state: State;

beforeEach(async () => {
  state = await at.open();
});

async function openJob(): Promise<Job> {
  const wanted = { key_print: "key", origin: "here", operation: "upsert" } as const;
  const plan = await state.plans.save({ ...wanted, undoes: null, problems: [] }, listRows());
  const writer = { realm: "a project", tool: "apply_plan", client: null, key_print: "key" };
  return state.jobs.open(plan, writer, "a key");
}

async function* listRows(): AsyncGenerator<PlanRow> {
  const blank = { row: null, link_id: null, fields: {}, before: null, message: null };
  yield { ...blank, position: 0, action: "create", path: "p" };
}

const listEnded = async () => (await state.notices.list(10)).map(({ subject }) => subject);

test("one that was interrupted is told of at once", async () => {
  const { id } = await openJob();
  const run = { id, runner: "one" };
  await state.jobs.take(run);
  await state.jobs.release(run, "interrupted", "an outage");
  await state.jobs.cancel(id);
  expect(await listEnded()).toEqual([id]);
});

test("one whose runner is at work is told of when that lets go of it, and once", async () => {
  const { id } = await openJob();
  const run = { id, runner: "one" };
  await state.jobs.take(run);
  await state.jobs.cancel(id);
  await state.jobs.tellOfLost();
  expect(await listEnded()).toEqual([]);
  await state.jobs.release(run, "interrupted");
  expect(await listEnded()).toEqual([id]);
  at.now += 2 * lease_ms;
  await state.jobs.tellOfLost();
  expect(await listEnded()).toEqual([id]);
});

test("one whose last row takes longer than a lease is told of when that has ended", async () => {
  const { id } = await openJob();
  const run = { id, runner: "slow" };
  await state.jobs.take(run);
  await state.jobs.cancel(id);
  for (let passed_ms = 0; passed_ms < 3 * lease_ms; passed_ms += lease_ms / 2) {
    // It may begin nothing more.
    expect(await state.jobs.renew(run)).toBe(false);
    at.now += lease_ms / 2;
    await state.jobs.tellOfLost();
    expect(await listEnded()).toEqual([]);
  }
  await state.jobs.release(run, "interrupted");
  expect(await listEnded()).toEqual([id]);
});

test("one whose runner was killed long before is told of at once, and once", async () => {
  const { id } = await openJob();
  await state.jobs.take({ id, runner: "killed" });
  at.now += lease_ms;
  await state.jobs.cancel(id);
  expect(await listEnded()).toEqual([id]);
  await state.notices.remove(await state.notices.list(10));
  await state.jobs.tellOfLost();
  expect(await listEnded()).toEqual([]);
});

test("one that the version before told of, leaving its runner, is not told of anew", async () => {
  const { id } = await openJob();
  await state.jobs.take({ id, runner: "killed" });
  at.now += lease_ms;
  const { db } = await at.openSql();
  const jobs = db.updateTable("jobs").set({ state: "cancelled", updated_at: at.now });
  await jobs.where("id", "=", id).execute();
  at.now += lease_ms;
  await state.jobs.tellOfLost();
  expect(await listEnded()).toEqual([]);
});

test.each([
  ["lease is over", lease_ms],
  ["process is started again an hour later", 60 * 60_000],
  ["clock was set back", -2 * lease_ms],
])("one whose runner was killed is told of when its %s, and once", async (_, passed_ms) => {
  const [{ id }, other] = [await openJob(), await openJob()];
  await state.jobs.take({ id, runner: "killed" });
  await state.jobs.take({ id: other.id, runner: "killed as well" });
  await state.jobs.cancel(id);
  at.now += passed_ms;
  await state.jobs.tellOfLost();
  expect(await listEnded()).toEqual([id]);
  await state.notices.remove(await state.notices.list(10));
  await state.jobs.tellOfLost();
  expect(await listEnded()).toEqual([]);
  expect(await state.jobs.find(id)).toMatchObject({ state: "cancelled", isHeld: false });
});
