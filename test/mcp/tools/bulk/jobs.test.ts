import { beforeEach, describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";
import type { RawCall } from "../../../support/mcp-http.ts";
import { waitUntil } from "../../../support/clock.ts";

/** Tests jobs as a client sees them: progress, tasks, cancellation, interruption and resuming. */

let assistant: AssistantWorld;
const count = 8;
const rows = Array.from({ length: count }, (_, index) => ({ path: `p${index}`, name: "New" }));

const yes = { action: "accept", content: { approve: true } } as const;

/** The wait between two rows on the test's clock, during which a test can stop the job. */
const spacing_ms = 400;

openForEach(
  () => createAssistantWorld({ spacing_ms }),
  (opened) => (assistant = opened),
);

const call: AssistantWorld["call"] = (...asked) => assistant.call(...asked);

type ListedJob = { readonly id: string; readonly state: string; readonly counts: { done: number } };

async function readJob(): Promise<ListedJob | undefined> {
  return (await assistant.callTool("list_jobs")).structured.jobs[0];
}

const countDone = async () => (await readJob())?.counts.done ?? 0;

/** Returns whether the job waits for its next row. Nothing else sleeps for this time. */
const waitsForRow = () => assistant.clock.isAsleepFor(spacing_ms);

async function runToEnd<Answer>(calling: Promise<Answer>): Promise<Answer> {
  let isAnswered = false;
  const answered = calling.finally(() => (isAnswered = true));
  while (!isAnswered) {
    const done = await countDone();
    await waitUntil(() => isAnswered || waitsForRow());
    if (isAnswered) break;
    assistant.advance(spacing_ms);
    await waitUntil(async () => isAnswered || (await countDone()) > done);
  }
  return answered;
}

async function runTo(rows: number): Promise<void> {
  while ((await countDone()) < rows) {
    const done = await countDone();
    if (done > 0) {
      await waitUntil(waitsForRow);
      assistant.advance(spacing_ms);
    }
    await waitUntil(async () => (await countDone()) > done);
  }
}

/** Waits for a call that cancels the job. The job checks for this before each row. */
async function stop<Answer>(cancelling: Promise<Answer>): Promise<Answer> {
  let isAnswered = false;
  const answered = cancelling.finally(() => (isAnswered = true));
  await waitUntil(async () => (await readJob())?.state === "cancelled");
  await waitUntil(() => {
    if (waitsForRow()) assistant.advance(spacing_ms);
    return isAnswered;
  });
  return answered;
}

async function apply(plan_id: string) {
  return (await runToEnd(assistant.callTool("apply_plan", { plan_id }))).structured;
}

async function plan(given: Record<string, unknown> = { operation: "upsert", rows }) {
  return (await call("plan_links", given)).plan;
}

const countLinks = async () => (await call("list_links")).meta.count;

test.each(["modern", "v1"] as const)(
  "a %s client can follow the progress of a job",
  async (era) => {
    const { id } = await plan();
    const client = await assistant.connect({ era });
    const seen: { progress: number; total?: number | undefined; message?: string | undefined }[] =
      [];
    const { structured } = await runToEnd(
      client.callTool(
        "apply_plan",
        { plan_id: id },
        {},
        { onprogress: (progress) => seen.push(progress) },
      ),
    );
    expect(structured.job).toMatchObject({ state: "done", counts: { done: count, left: 0 } });
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.every(({ total }) => total === count)).toBe(true);
    const steps = seen.map(({ progress }) => progress);
    expect(steps).toEqual(steps.toSorted((one, other) => one - other));
    expect(seen.at(-1)?.message).toMatch(/^\d of 8 links, \d\.\d per second, about \d s left$/);
  },
);

describe("a client that supports tasks", () => {
  const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

  const getTask = (taskId: string) =>
    assistant.callRaw({ method: "tasks/get", taskId, capabilities });

  async function finish(taskId: string) {
    const isOver = async () => (await getTask(taskId)).status !== "working";
    await runToEnd(waitUntil(isOver));
    const task = await getTask(taskId);
    expect(task.resultType).toBe("complete");
    return task;
  }

  test("gets a task from apply_plan, and the result once the task is completed", async () => {
    const { id } = await plan();
    const apply = { name: "apply_plan", arguments: { plan_id: id }, capabilities };
    const task = await runToEnd(assistant.callRaw(apply));
    expect(task).toMatchObject({ resultType: "task", status: "working", ttlMs: null });
    expect(task.structuredContent).toBeUndefined();
    const job = (await call("get_job", { job_id: task.taskId })).job;
    expect(task.createdAt).toBe(job.created_at);
    const ended = await finish(task.taskId);
    expect(ended).toMatchObject({ status: "completed", taskId: task.taskId });
    expect(ended.result.structuredContent.job).toMatchObject({
      state: "done",
      counts: { done: count },
    });
    expect(JSON.parse(ended.result.content[0].text)).toEqual(ended.result.structuredContent);
    expect(await countLinks()).toBe(count);
    // Applying a finished plan returns the result at once.
    const again = await assistant.callRaw(apply);
    expect(again.structuredContent.job).toMatchObject({ id: task.taskId, state: "done" });
  });

  test("can cancel the task of a job", async () => {
    const { id } = await plan();
    const apply = { name: "apply_plan", arguments: { plan_id: id }, capabilities };
    const { taskId } = await runToEnd(assistant.callRaw(apply));
    const cancelling = assistant.callRaw({ method: "tasks/cancel", taskId, capabilities });
    expect(await stop(cancelling)).toEqual({ resultType: "complete", _meta: expect.anything() });
    expect(await getTask(taskId)).toMatchObject({ status: "cancelled" });
    const made = await countLinks();
    expect(made).toBeLessThan(count);
    expect((await call("get_job", { job_id: taskId })).job.counts).toMatchObject({ done: made });
  });

  test("cannot access unknown tasks or tasks of another key", async () => {
    const { id } = await plan();
    const apply = { name: "apply_plan", arguments: { plan_id: id }, capabilities };
    const { taskId } = await runToEnd(assistant.callRaw(apply));
    const key = await assistant.world.addKey({});
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
      for (const stranger of [{ taskId, key }, { taskId: "nobody" }]) {
        const { protocolError } = await assistant.callRaw({ method, capabilities, ...stranger });
        expect(protocolError).toMatchObject({ code: -32602 });
      }
    }
    expect(await finish(taskId)).toMatchObject({ status: "completed" });
  });
});

test("tasks/* returns -32021 to a client that does not support tasks", async () => {
  for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
    for (const capabilities of [{}, { extensions: {} }, { elicitation: {} }]) {
      const asked = { method, taskId: "nobody", capabilities };
      const { protocolError } = await assistant.callRaw(asked);
      expect(protocolError).toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
      });
    }
  }
});

test.each([
  ["modern", {}],
  ["v1", { extensions: { "io.modelcontextprotocol/tasks": {} } }],
] as const)(
  "for a %s client with the capabilities %j, apply_plan waits until the job ends",
  async (era, capabilities) => {
    const { id } = await plan();
    const client = await assistant.connect({ era, capabilities });
    const { structured } = await runToEnd(client.callTool("apply_plan", { plan_id: id }));
    expect(structured.job).toMatchObject({ state: "done", counts: { done: count } });
  },
);

async function leaveHalfWay() {
  for (const row of rows) await assistant.plant("link", { ...row, name: "Old" });
  const { id } = await plan();
  const { error } = await call("apply_plan", { plan_id: id });
  await assistant.press(error.approval.url, "approve");
  const applying = assistant.callTool("apply_plan", { plan_id: id });
  await runTo(2);
  return { plan_id: id, applying };
}

const resumeAdvice = "Applying its plan (plan_id) again resumes it.";

describe("a job that stopped halfway", () => {
  test("is listed in read-only mode without the name of the tool that resumes it", async () => {
    const { applying } = await leaveHalfWay();
    await assistant.bulk.close();
    await applying;
    await using looking = await createAssistantWorld({
      beside: assistant.world,
      mode: "read-only",
    });
    const [job] = (await looking.callTool("list_jobs")).structured.jobs;
    const read = (await looking.callTool("get_job", { job_id: job.id })).structured;
    expect([job.next, read.job.next]).toEqual([resumeAdvice, resumeAdvice]);
  });

  test("can be resumed by another process without a second approval", async () => {
    const { plan_id, applying } = await leaveHalfWay();
    await assistant.bulk.close();
    await applying;
    const [job] = (await call("list_jobs")).jobs;
    expect(job).toMatchObject({ state: "interrupted", next: resumeAdvice });
    await using next = await createAssistantWorld({ beside: assistant.world });
    await next.bulk.loadUnfinished();
    const client = await next.connect({});
    expect(client.readInstructions()).toContain("unfinished job");
    const { structured } = await client.callTool("apply_plan", { plan_id });
    expect(structured.job).toMatchObject({ id: job.id, state: "done", counts: { done: count } });
    expect((await next.connect({})).readInstructions()).not.toContain("unfinished job");
    expect(next.writes).toHaveLength(count - job.counts.done);
  });

  test("needs a new approval if it was stopped by cancel_job", async () => {
    const { plan_id, applying } = await leaveHalfWay();
    const [{ id }] = (await call("list_jobs")).jobs;
    const cancelling = call("cancel_job", { job_id: id });
    const [{ job }] = await stop(Promise.all([cancelling, applying]));
    expect(job.state).toBe("cancelled");
    expect(job.counts.left).toBeGreaterThan(0);
    const { error } = await call("apply_plan", { plan_id });
    expect(error).toMatchObject({ code: "approval_required" });
    await assistant.press(error.approval.url, "approve");
    const { job: ended } = await apply(plan_id);
    expect(ended).toMatchObject({ id, state: "done", counts: { done: count, left: 0 } });
  });
});

test("a plan expires after an hour unless it has been applied", async () => {
  const [old, used] = [await plan(), await plan()];
  await apply(used.id);
  assistant.advance(3_600_001);
  expect((await call("apply_plan", { plan_id: old.id })).error).toMatchObject({
    code: "plan_changed",
    effect: "none",
  });
  expect((await call("apply_plan", { plan_id: used.id })).job).toMatchObject({ state: "done" });
});

describe("an approval requested before a job was cancelled", () => {
  let plan_id: string;

  beforeEach(async () => {
    for (const row of rows) await assistant.plant("link", { ...row, name: "Old" });
    plan_id = (await plan()).id;
  });

  const send = (answer: Pick<RawCall, "inputResponses" | "requestState"> = {}) =>
    assistant.callRaw({ name: "apply_plan", arguments: { plan_id }, ...answer });

  const ask = async () => (await send()).requestState;

  const approve = (requestState: string | undefined) =>
    send({ inputResponses: { approval: yes }, requestState });

  async function applyUntil(done: number, requestState: string | undefined): Promise<void> {
    const applying = approve(requestState);
    await runTo(done);
    const job = await readJob();
    const cancelling = call("cancel_job", { job_id: job?.id });
    await stop(Promise.all([cancelling, applying]));
  }

  test("does not resume the job", async () => {
    const [state, later] = [await ask(), await ask()];
    await applyUntil(2, state);
    expect(await approve(later)).toMatchObject({ resultType: "input_required" });
  });

  test("cannot resume the job after another resume and cancel", async () => {
    await applyUntil(2, await ask());
    const [again, later] = [await ask(), await ask()];
    await applyUntil(4, again);
    expect(await approve(later)).toMatchObject({ resultType: "input_required" });
  });
});

test("plan_links rejects a plan to delete links if the key may not delete links", async () => {
  const key = await assistant.world.addKey({
    scopes: ["links.index", "links.show", "links.update"],
  });
  const client = await assistant.connect({ key });
  const { error } = (
    await client.callTool("plan_links", { operation: "delete", rows: [{ path: "a" }] })
  ).structured;
  expect(error).toMatchObject({ code: "scope_missing", effect: "none" });
  expect(error.next).toContain("links.destroy");
});
