import { expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";
import { waitUntil } from "../../../support/clock.ts";

/** Tests the undo of an interrupted job. */

let assistant: AssistantWorld;
const rows = ["a", "b", "c", "d"].map((path) => ({ path, name: "New" }));

openForEach(
  // The wait lets the test interrupt the job between two rows.
  () => createAssistantWorld({ mode: "full", spacing_ms: 400 }),
  (opened) => (assistant = opened),
);

async function call(tool: string, args: Readonly<Record<string, unknown>> = {}, by = assistant) {
  return (await by.callTool(tool, args)).structured;
}

/** Starts a job and interrupts it after its first row, like a process that stops. */
async function leaveInterrupted(): Promise<{ readonly job_id: string; readonly plan_id: string }> {
  for (const { path } of rows) await assistant.plant("link", { path, name: "Old" });
  const { plan } = await call("plan_links", { operation: "upsert", rows });
  const applying = call("apply_plan", { plan_id: plan.id });
  const readJob = async () => (await call("list_jobs")).jobs[0];
  await waitUntil(async () => (await readJob())?.counts.done === 1);
  await assistant.bulk.close();
  await applying;
  const job = await readJob();
  expect(job).toMatchObject({ state: "interrupted", counts: { done: 1, left: 3 } });
  return { job_id: job.id, plan_id: plan.id };
}

const listNames = async (by: AssistantWorld) =>
  (await call("list_links", {}, by)).links.map(({ name }: { name: string }) => name);

test("a plan to undo an interrupted job cannot be applied after the job is resumed", async () => {
  const { job_id, plan_id } = await leaveInterrupted();
  await using next = await createAssistantWorld({ beside: assistant.world, mode: "full" });
  const { plan: early } = await call("plan_links", { undo: job_id }, next);
  expect(early.counts).toMatchObject({ update: 1 });
  expect((await call("apply_plan", { plan_id }, next)).job).toMatchObject({ state: "done" });
  const { error } = await call("apply_plan", { plan_id: early.id }, next);
  expect(error).toMatchObject({
    code: "plan_changed",
    effect: "none",
    message: "The job that this plan undoes has continued, so the plan may be missing rows.",
    next: "Make the plan again and show the user what it would do now.",
  });
  expect(await listNames(next)).toEqual(rows.map(() => "New"));

  const { plan } = await call("plan_links", { undo: job_id }, next);
  const { job } = await call("apply_plan", { plan_id: plan.id }, next);
  expect(job).toMatchObject({ state: "done", counts: { done: rows.length } });
  expect(await listNames(next)).toEqual(rows.map(() => "Old"));
});

test("a new process does not resume a cancelled job that was undone", async () => {
  const { job_id } = await leaveInterrupted();
  await using next = await createAssistantWorld({ beside: assistant.world, mode: "full" });
  expect((await call("cancel_job", { job_id }, next)).job).toMatchObject({ state: "cancelled" });
  const { plan } = await call("plan_links", { undo: job_id }, next);
  const { job } = await call("apply_plan", { plan_id: plan.id }, next);
  expect(job).toMatchObject({ state: "done", counts: { done: 1 } });
  expect(await next.state.jobs.listResumable()).toEqual([]);
  expect(await listNames(next)).toEqual(rows.map(() => "Old"));
});
