import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../support/assistant-world.ts";

/** Jobs as a client meets them: told of while they run, asked for, stopped, and gone on with. */

let assistant: AssistantWorld;
const count = 8;
const rows = Array.from({ length: count }, (_, index) => ({ path: `p${index}`, name: "New" }));

beforeEach(async () => {
  // Slow enough to be met half way.
  assistant = await createAssistantWorld({ spacing_ms: 400 });
});
afterEach(async () => {
  expect(assistant.reported).toEqual([]);
  await assistant[Symbol.asyncDispose]();
});

async function call(tool: string, args: Record<string, unknown> = {}) {
  return (await assistant.callTool(tool, args)).structured;
}

async function plan(given: Record<string, unknown> = { operation: "upsert", rows }) {
  return (await call("plan_links", given)).plan;
}

const countLinks = async () => (await call("list_links")).meta.count;

test.each(["modern", "legacy", "v1"] as const)(
  "a client that asks is told how far a job is (%s)",
  async (era) => {
    const { id } = await plan();
    const client = await assistant.connect({ era });
    const told: { progress: number; total?: number | undefined; message?: string | undefined }[] =
      [];
    const { structured } = await client.callTool("apply_plan", { plan_id: id }, {}, (progress) =>
      told.push(progress),
    );
    expect(structured.job).toMatchObject({ state: "done", counts: { done: count, left: 0 } });
    expect(told.length).toBeGreaterThan(0);
    expect(told.every(({ total }) => total === count)).toBe(true);
    const steps = told.map(({ progress }) => progress);
    expect(steps).toEqual(steps.toSorted((one, other) => one - other));
    expect(told.at(-1)?.message).toMatch(/^\d of 8 links, \d\.\d a second, about \d s left$/);
  },
);

describe("a client that takes tasks", () => {
  const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

  async function poll(taskId: string) {
    for (;;) {
      const task = await assistant.callRaw({ method: "tasks/get", taskId, capabilities });
      expect(task.resultType).toBe("complete");
      if (task.status !== "working") return task;
      await setTimeout(50);
    }
  }

  test("gets the job as one, and what the call would have answered at its end", async () => {
    const { id } = await plan();
    const apply = { name: "apply_plan", arguments: { plan_id: id }, capabilities };
    const task = await assistant.callRaw(apply);
    expect(task).toMatchObject({ resultType: "task", status: "working", ttlMs: null });
    expect(task.structuredContent).toBeUndefined();
    const job = (await call("get_job", { job_id: task.taskId })).job;
    expect(task.createdAt).toBe(job.created_at);
    const ended = await poll(task.taskId);
    expect(ended).toMatchObject({ status: "completed", taskId: task.taskId });
    expect(ended.result.structuredContent.job).toMatchObject({
      state: "done",
      counts: { done: count },
    });
    expect(JSON.parse(ended.result.content[0].text)).toEqual(ended.result.structuredContent);
    expect(await countLinks()).toBe(count);
    // What is done is answered at once.
    const again = await assistant.callRaw(apply);
    expect(again.structuredContent.job).toMatchObject({ id: task.taskId, state: "done" });
  });

  test("can cancel it, and is told so", async () => {
    const { id } = await plan();
    const apply = { name: "apply_plan", arguments: { plan_id: id }, capabilities };
    const { taskId } = await assistant.callRaw(apply);
    const cancelled = await assistant.callRaw({ method: "tasks/cancel", taskId, capabilities });
    expect(cancelled).toEqual({ resultType: "complete", _meta: expect.anything() });
    expect(await poll(taskId)).toMatchObject({ status: "cancelled" });
    const made = await countLinks();
    expect(made).toBeLessThan(count);
    expect((await call("get_job", { job_id: taskId })).job.counts).toMatchObject({ done: made });
  });

  test("finds no task of another key, and none that never was", async () => {
    const { id } = await plan();
    const apply = { name: "apply_plan", arguments: { plan_id: id }, capabilities };
    const { taskId } = await assistant.callRaw(apply);
    const key = await assistant.world.addKey({});
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
      for (const stranger of [{ taskId, key }, { taskId: "nobody" }]) {
        const { protocolError } = await assistant.callRaw({ method, capabilities, ...stranger });
        expect(protocolError).toMatchObject({ code: -32602 });
      }
    }
    expect(await poll(taskId)).toMatchObject({ status: "completed" });
  });
});

test("a client that declares no tasks waits for the job", async () => {
  const { id } = await plan();
  const apply = { name: "apply_plan", arguments: { plan_id: id }, capabilities: {} };
  const { structuredContent, resultType } = await assistant.callRaw(apply);
  expect(resultType).toBe("complete");
  expect(structuredContent.job).toMatchObject({ state: "done" });
});

async function leaveHalfWay() {
  for (const row of rows) await assistant.plant("link", { ...row, name: "Old" });
  const { id } = await plan();
  const { error } = await call("apply_plan", { plan_id: id });
  await assistant.press(error.approval.url, "approve");
  const applying = assistant.callTool("apply_plan", { plan_id: id });
  while (((await call("list_jobs")).jobs[0]?.counts.done ?? 0) < 2) await setTimeout(20);
  return { plan_id: id, applying };
}

describe("a job that was stopped half way", () => {
  test("by its process's end is offered by the next one, and needs no second yes", async () => {
    const { plan_id, applying } = await leaveHalfWay();
    await assistant.bulk.close();
    await applying;
    const [job] = (await call("list_jobs")).jobs;
    expect(job).toMatchObject({ state: "interrupted", next: expect.stringMatching(/apply_plan/) });
    await using next = await createAssistantWorld({ beside: assistant.world });
    await next.bulk.recall();
    const client = await next.connect({});
    expect(client.readInstructions()).toContain("not finished");
    const { structured } = await client.callTool("apply_plan", { plan_id });
    expect(structured.job).toMatchObject({ id: job.id, state: "done", counts: { done: count } });
    expect((await next.connect({})).readInstructions()).not.toContain("not finished");
    expect(next.writes).toHaveLength(count - job.counts.done);
  });

  test("by cancel_job needs a new yes to go on", async () => {
    const { plan_id, applying } = await leaveHalfWay();
    const [{ id }] = (await call("list_jobs")).jobs;
    const { job } = await call("cancel_job", { job_id: id });
    expect(job.state).toBe("cancelled");
    expect(job.counts.left).toBeGreaterThan(0);
    await applying;
    const { error } = await call("apply_plan", { plan_id });
    expect(error).toMatchObject({ code: "approval_required" });
    await assistant.press(error.approval.url, "approve");
    const { job: ended } = await call("apply_plan", { plan_id });
    expect(ended).toMatchObject({ id, state: "done", counts: { done: count, left: 0 } });
  });
});

test("a plan grows old, but not under a job", async () => {
  const [old, used] = [await plan(), await plan()];
  await call("apply_plan", { plan_id: used.id });
  assistant.advance(3_600_001);
  expect((await call("apply_plan", { plan_id: old.id })).error).toMatchObject({
    code: "plan_changed",
    effect: "none",
  });
  expect((await call("apply_plan", { plan_id: used.id })).job).toMatchObject({ state: "done" });
});

test("a list of jobs and their receipts come in pages", async () => {
  const { id } = await plan();
  const { job } = await call("apply_plan", { plan_id: id });
  expect((await call("get_job", { job_id: job.id, page: 2 })).job.receipts).toEqual([]);
  expect((await call("list_jobs")).meta).toEqual({ page: 1, limit: 20, count: 1, last: 1 });
  expect((await call("list_jobs", { page: 2 })).jobs).toEqual([]);
});

describe("read-only mode", () => {
  test("plans nothing, and shows what there is", async () => {
    await using reader = await createAssistantWorld({ mode: "read-only" });
    const names = (await reader.listTools()).map(({ name }) => name);
    expect(names).not.toContain("plan_links");
    expect(names).not.toContain("apply_plan");
    expect(names).not.toContain("cancel_job");
    expect(names).toEqual(expect.arrayContaining(["export_links", "list_jobs", "get_job"]));
  });
});

test("in two-step mode a plan is applied with the approval of its first call", async () => {
  await using other = await createAssistantWorld({ mode: "two-step" });
  await other.plant("link", { path: "p0", name: "Old" });
  const { plan } = (
    await other.callTool("plan_links", {
      operation: "update",
      filters: [{ field: "path", condition: "eq", value: "p0" }],
      changes: { name: "New" },
    })
  ).structured;
  const first = (await other.callTool("apply_plan", { plan_id: plan.id })).structured.error;
  expect(first).toMatchObject({ code: "approval_required" });
  const approval = first.approval.token;
  const { structured } = await other.callTool("apply_plan", { plan_id: plan.id, approval });
  expect(structured.job).toMatchObject({ state: "done", counts: { done: 1 } });
});

test("a yes from before a job was cancelled is none to go on with it", async () => {
  await using other = await createAssistantWorld({ mode: "two-step", spacing_ms: 100 });
  for (const row of rows) await other.plant("link", { ...row, name: "Old" });
  const { id } = (await other.callTool("plan_links", { operation: "upsert", rows })).structured
    .plan;
  const ask = async () => {
    const { error } = (await other.callTool("apply_plan", { plan_id: id })).structured;
    return error.approval.token;
  };
  const [approval, later] = [await ask(), await ask()];
  const applying = other.callTool("apply_plan", { plan_id: id, approval });
  let job: { readonly id: string; readonly counts: { readonly done: number } } | undefined;
  while ((job?.counts.done ?? 0) < 2) {
    [job] = (await other.callTool("list_jobs")).structured.jobs;
    await setTimeout(20);
  }
  await other.callTool("cancel_job", { job_id: job?.id });
  await applying;
  const second = await other.callTool("apply_plan", { plan_id: id, approval: later });
  expect(second.structured.error).toMatchObject({ code: "approval_required" });
});

test("a key that may not delete is told so before anything is read", async () => {
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
