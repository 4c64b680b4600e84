import { beforeEach, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Every result describes a job in the same words. */

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  (opened) => (assistant = opened),
);

beforeEach(async () => {
  for (let turn = 0; turn < 3; turn += 1) {
    await assistant.plant("link", { path: `p${turn}`, url: "https://x.example/old" });
  }
});

const filters = [{ field: "path", condition: "start", value: "p" }];

const call: AssistantWorld["call"] = (...asked) => assistant.call(...asked);

async function run(args: Record<string, unknown>) {
  const { plan } = await call("plan_links", args);
  return (await call("apply_plan", { plan_id: plan.id })).job;
}

test.each([
  [{ url: "https://y.example/new" }, "changed 3 links (url)"],
  [{ name: "N", social_title: "T" }, "changed 3 links (name and social_title)"],
])("a job's description names the changed fields: %j", async (changes, what) => {
  expect((await run({ operation: "update", filters, changes })).what).toBe(what);
});

test("a job's description contains the numbers of created and changed links", async () => {
  const url = "https://x.example/new";
  const rows = [{ path: "p0", url }, { path: "new" }, { path: "newer" }];
  expect((await run({ operation: "upsert", rows })).what).toBe("created 2 and changed 1 link");
  const one = { operation: "upsert", rows: [{ path: "newest" }] };
  expect((await run(one)).what).toBe("created 1 link");
});

test("job lists and the history describe a job and its undo with the same words", async () => {
  const { id } = await run({ operation: "delete", filters });
  const undo = await run({ undo: id });
  const descriptions = [`undid ${id}`, "deleted 3 links"];
  const { jobs } = await call("list_jobs");
  expect(jobs.map(({ what }: { what: string }) => what)).toEqual(descriptions);
  expect((await call("get_job", { job_id: undo.id })).job.what).toBe(descriptions[0]);
  const { changes } = await call("list_changes");
  expect(changes.map(({ target }: { target: { name: string } }) => target.name)).toEqual(
    descriptions,
  );
});

test("a job's description counts the changed links, but not the rejected rows", async () => {
  const { plan } = await call("plan_links", {
    operation: "update",
    filters,
    changes: { name: "N" },
  });
  await call("update_link", { id: "p1", name: "Mine" });
  const { job } = await call("apply_plan", { plan_id: plan.id });
  expect(job).toMatchObject({
    counts: { done: 2, rejected: 1 },
    what: "changed 2 of 3 links (name)",
  });
  const { changes } = await call("list_changes", { target: job.id });
  expect(changes[0].target.name).toBe("changed 2 of 3 links (name)");
});

test("list_changes shows a job's description to other keys of the project", async () => {
  await run({ operation: "update", filters, changes: { name: "N" } });
  const other = await assistant.connect({ key: await assistant.world.addKey({}) });
  const { changes } = (await other.callTool("list_changes", {})).structured;
  expect(changes[0]?.target.name).toBe("changed 3 links (name)");
});
