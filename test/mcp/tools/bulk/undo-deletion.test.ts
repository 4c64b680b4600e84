import { expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** A job that deleted links is undone by what the bin has kept of them. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

async function call(tool: string, args: Readonly<Record<string, unknown>>) {
  return (await assistant.callTool(tool, args)).structured;
}

async function callApproved(tool: string, args: Readonly<Record<string, unknown>>) {
  const { error } = await call(tool, args);
  expect(error).toMatchObject({ code: "approval_required" });
  await assistant.press(error.approval.url, "approve");
  return call(tool, args);
}

async function deleteByPlan(paths: readonly string[]): Promise<string> {
  const rows = paths.map((path) => ({ path }));
  const { plan } = await call("plan_links", { operation: "delete", rows });
  const { job } = await callApproved("apply_plan", { plan_id: plan.id });
  expect(job.counts).toMatchObject({ done: paths.length });
  return job.id;
}

const byPath = { sort: { field: "path", direction: "asc" } };

test("links that a job deleted return with their ids, clicks and short addresses", async () => {
  const shortened = { options: { shorten: true } };
  for (const path of ["a", "b"]) await assistant.plant("link", { path, name: path, ...shortened });
  await assistant.world.store.write((db) => db.updateTable("links").set({ clicks: 7 }).execute());
  const before = await call("list_links", byPath);
  const job = await deleteByPlan(["a", "b"]);
  expect((await call("list_links", {})).links).toEqual([]);

  const { plan } = await call("plan_links", { undo: job });
  expect(plan.sample[0].message).toBe("The link is restored with its ID, clicks and short path");
  const undone = await call("apply_plan", { plan_id: plan.id });

  expect(undone.job.counts).toMatchObject({ done: 2 });
  expect(await call("list_links", byPath)).toEqual(before);
});

test("a link whose path is taken by then is told of, and the others return", async () => {
  for (const path of ["a", "b"]) await assistant.plant("link", { path });
  const job = await deleteByPlan(["a", "b"]);
  const { plan } = await call("plan_links", { undo: job });
  await assistant.plant("link", { path: "a", name: "another" });
  const undone = await call("apply_plan", { plan_id: plan.id });
  expect(undone.job.counts).toMatchObject({ done: 1, rejected: 1 });
});

test("an undone deletion is undone as well", async () => {
  await assistant.plant("link", { path: "a" });
  const first = await deleteByPlan(["a"]);
  const { plan } = await call("plan_links", { undo: first });
  const { job } = await call("apply_plan", { plan_id: plan.id });
  const again = await call("plan_links", { undo: job.id });
  expect(again.plan.counts).toMatchObject({ delete: 1 });
});
