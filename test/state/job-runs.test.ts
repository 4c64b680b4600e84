import { beforeEach, describe, expect, test } from "vitest";
import { lease_ms, type Run, type RowEnd } from "../../src/state/job-runs.ts";
import type { Job, Jobs } from "../../src/state/jobs.ts";
import type { Plan, PlanAction, PlanRow } from "../../src/state/plans.ts";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/store-place.ts";

/** Tests which of several processes may record the progress of a job. */

const at = openStateForEach();
/** Two processes that share a database. */
let state: State;
let other: State;

beforeEach(async () => {
  state = await at.open();
  other = await at.open();
});

async function makePlan(actions: readonly PlanAction[]): Promise<Plan> {
  const wanted = { key_print: "key", origin: "here", operation: "upsert" } as const;
  return state.plans.save({ ...wanted, undoes: null, problems: [] }, listRows(actions));
}

async function* listRows(actions: readonly PlanAction[]): AsyncGenerator<PlanRow> {
  const blank = { row: null, link_id: null, fields: {}, before: null, message: null };
  yield* actions.map((action, position) => ({ ...blank, position, action, path: `p${position}` }));
}

async function openJob(actions: readonly PlanAction[]): Promise<Job> {
  return state.jobs.open(await makePlan(actions));
}

const done: RowEnd = { status: "done", link_id: "a-link" };
const refused: RowEnd = { status: "rejected", message: "no" };
const three = ["create", "create", "create"] as const;

async function startRuns(): Promise<{ job: Job; first: Run; second: Run }> {
  const job = await openJob(three);
  return { job, first: { id: job.id, runner: "one" }, second: { id: job.id, runner: "two" } };
}

const listStatuses = async (jobs: Jobs, job: Job) =>
  (await jobs.listReceipts(job, { limit: 100 })).map(({ status }) => status);

describe("a job's lease", () => {
  test("can be acquired by only one process after it expires", async () => {
    const { first, second } = await startRuns();
    expect(await state.jobs.take(first)).toBe(true);
    at.now += lease_ms - 1;
    expect(await other.jobs.take(second)).toBe(false);
    at.now += 1;
    const third = { ...second, runner: "three" };
    const taken = await Promise.all([other.jobs.take(second), state.jobs.take(third)]);
    expect(taken.toSorted()).toEqual([false, true]);
  });

  test("is renewed while the job runs", async () => {
    const { first, second } = await startRuns();
    await state.jobs.take(first);
    for (let beat = 0; beat < 5; beat += 1) {
      at.now += lease_ms - 1;
      expect(await state.jobs.renew(first)).toBe(true);
      expect(await other.jobs.take(second)).toBe(false);
    }
    // Recording a row also renews the lease.
    at.now += lease_ms - 1;
    expect(await state.jobs.noteSent(first, 0)).toBe(true);
    at.now += lease_ms - 1;
    expect(await other.jobs.take(second)).toBe(false);
  });
});

describe("a runner whose lease has expired", () => {
  test("cannot record progress or finish the job after another process claimed it", async () => {
    const { job, first, second } = await startRuns();
    await state.jobs.take(first);
    expect(await state.jobs.noteSent(first, 0)).toBe(true);
    at.now += lease_ms;
    await other.jobs.take(second);
    expect(await state.jobs.renew(first)).toBe(false);
    expect(await state.jobs.noteSent(first, 1)).toBe(false);
    await state.jobs.noteEnd(first, 0, { status: "rejected", message: "too late" });
    await state.jobs.noteEnd(first, 2, done);
    await state.jobs.release(first, "done");
    expect(await listStatuses(other.jobs, job)).toEqual(["sent", null, null]);
    expect(await other.jobs.find(job.id)).toMatchObject({ state: "running", counts: { left: 3 } });
    expect(await other.jobs.renew(second)).toBe(true);
  });

  test("can continue its job if no other process has claimed the job", async () => {
    const { job, first } = await startRuns();
    await state.jobs.take(first);
    at.now += 5 * lease_ms;
    expect(await state.jobs.noteSent(first, 0)).toBe(true);
    await state.jobs.noteEnd(first, 0, done);
    expect(await other.jobs.find(job.id)).toMatchObject({ state: "running", counts: { done: 1 } });
  });
});

describe("a cancelled job", () => {
  test("sends no more rows but still records the outcome of a row already sent", async () => {
    const { job, first } = await startRuns();
    await state.jobs.take(first);
    await state.jobs.noteSent(first, 0);
    await other.jobs.cancel(job.id);
    expect(await state.jobs.noteSent(first, 1)).toBe(false);
    expect(await state.jobs.renew(first)).toBe(false);
    await state.jobs.noteEnd(first, 0, done);
    await state.jobs.release(first, "interrupted");
    expect(await other.jobs.find(job.id)).toMatchObject({
      state: "cancelled",
      counts: { done: 1, left: 2 },
    });
  });

  test("can be claimed only after it is resumed", async () => {
    const { job, first, second } = await startRuns();
    await state.jobs.take(first);
    await state.jobs.cancel(job.id);
    await state.jobs.release(first, "interrupted");
    expect(await other.jobs.take(second)).toBe(false);
    await other.jobs.revive(job.id);
    expect(await other.jobs.take(second)).toBe(true);
    expect(await other.jobs.noteSent(second, 0)).toBe(true);
  });

  test('stays "done" if it finished before it was cancelled', async () => {
    const { job, first, second } = await startRuns();
    await state.jobs.take(first);
    await state.jobs.release(first, "done");
    await other.jobs.cancel(job.id);
    expect(await state.jobs.find(job.id)).toMatchObject({ state: "done" });
    expect(await other.jobs.take(second)).toBe(false);
  });
});

describe("concurrent progress records of a job", () => {
  test("share a commit and are all stored unchanged", async () => {
    const { job, first } = await startRuns();
    await state.jobs.take(first);
    await state.jobs.noteSent(first, 0);
    const before = state.countWrites();
    const noted = [
      state.jobs.noteEnd(first, 0, done),
      state.jobs.noteSent(first, 1),
      state.jobs.noteEnd(first, 2, refused),
    ];
    expect(await Promise.all(noted)).toEqual([undefined, true, undefined]);
    expect(state.countWrites()).toBe(before + 1);
    const receipts = await other.jobs.listReceipts(job, { limit: 3 });
    expect(receipts.map(({ status, link_id, message }) => [status, link_id, message])).toEqual([
      ["done", "a-link", null],
      ["sent", null, null],
      ["rejected", null, "no"],
    ]);
  });

  test("are stored for finished rows but refused for new rows of a cancelled job", async () => {
    const { job, first } = await startRuns();
    await state.jobs.take(first);
    await state.jobs.noteSent(first, 0);
    await other.jobs.cancel(job.id);
    const noted = [state.jobs.noteEnd(first, 0, done), state.jobs.noteSent(first, 1)];
    expect(await Promise.all(noted)).toEqual([undefined, false]);
    expect(await listStatuses(other.jobs, job)).toEqual(["done", null, null]);
  });

  test("are accepted only from the run that holds the job's lease", async () => {
    const { job, first, second } = await startRuns();
    const another = await openJob(three);
    const third = { id: another.id, runner: "one" };
    await state.jobs.take(first);
    await state.jobs.take(third);
    const begun = [first, second, third].map((run) => state.jobs.noteSent(run, 1));
    expect(await Promise.all(begun)).toEqual([true, false, true]);
    expect(await listStatuses(other.jobs, job)).toEqual([null, "sent", null]);
    expect(await listStatuses(other.jobs, another)).toEqual([null, "sent", null]);
  });

  test("are stored even if another record contains a NUL and is rejected", async () => {
    const { job, first } = await startRuns();
    await state.jobs.take(first);
    const noted = [
      state.jobs.noteEnd(first, 0, { ...refused, message: "\0" }),
      state.jobs.noteEnd(first, 1, done),
    ];
    const [unfit, fit] = await Promise.allSettled(noted);
    expect([unfit?.status, fit?.status]).toEqual(["rejected", "fulfilled"]);
    expect(await listStatuses(other.jobs, job)).toEqual([null, "done", null]);
  });
});

describe("the receipts of a job", () => {
  /** The actions of a plan in which many rows need no change. */
  const actions = Array.from({ length: 700 }, (_, index): PlanAction => {
    if (index % 50 === 7) return "delete";
    if (index % 9 === 0) return "update";
    return index % 100 === 5 ? "conflict" : "unchanged";
  });
  const acts = actions.flatMap((action, position) =>
    action === "update" || action === "delete" ? [position] : [],
  );

  test("list each changed row once and in order, whatever the page size", async () => {
    const job = await openJob(actions);
    expect(acts.length).toBeGreaterThan(80);
    for (const limit of [1, 7, 20, acts.length, 1000]) {
      expect(await readPages(job, limit)).toEqual(acts);
    }
    expect((await state.jobs.find(job.id))?.counts.left).toBe(acts.length);
  });

  test("stay in order even if rows finish between two page requests", async () => {
    const job = await openJob(actions);
    const run = { id: job.id, runner: "one" };
    await state.jobs.take(run);
    const waiting = [...acts];
    const doSome = async () => {
      for (const position of waiting.splice(0, 15)) await state.jobs.noteEnd(run, position, done);
    };
    expect(await readPages(job, 10, doSome)).toEqual(acts);
    expect(waiting).toEqual([]);
    const ended = await state.jobs.find(job.id);
    expect(ended?.counts).toEqual({ done: acts.length, rejected: 0, unknown: 0, left: 0 });
  });

  test('are limited by the filter "open" to rows without a known outcome', async () => {
    const job = await openJob(actions);
    const run = { id: job.id, runner: "one" };
    await state.jobs.take(run);
    const [first = 0, second = 0, third = 0, fourth = 0, ...rest] = acts;
    await state.jobs.noteEnd(run, first, done);
    await state.jobs.noteEnd(run, second, { status: "rejected", message: "no" });
    await state.jobs.noteEnd(run, third, { status: "unknown" });
    await state.jobs.noteSent(run, fourth);
    const open = await state.jobs.listReceipts(job, { limit: 1000, only: "open" });
    expect(open.map(({ position }) => position)).toEqual([third, fourth, ...rest]);
  });

  test('are listed in reverse order if the option "before" is set', async () => {
    const job = await openJob(actions);
    const found: number[] = [];
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const page = await state.jobs.listReceipts(job, { before, limit: 9 });
      const last = page.at(-1);
      if (last === undefined) break;
      found.push(...page.map(({ position }) => position));
      before = last.position;
    }
    expect(found).toEqual(acts.toReversed());
  });
});

async function readPages(job: Job, limit: number, onPage = async () => {}) {
  const found: number[] = [];
  for (let offset = 0; ; offset += limit) {
    const page = await other.jobs.listReceipts(job, { offset, limit });
    found.push(...page.map(({ position }) => position));
    if (page.length < limit) return found;
    await onPage();
  }
}
