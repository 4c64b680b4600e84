import { describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";
import { waitUntil } from "../../../support/clock.ts";

/** Failures of the bulk tools. The 1.x client checks each result against the tool's schema. */

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ era: "v1" }),
  async (opened) => {
    assistant = opened;
    // The client checks only results of tools that it has listed before.
    await assistant.listTools();
  },
);

type Args = Record<string, unknown>;

const call: AssistantWorld["call"] = (...asked) => assistant.call(...asked);

async function fail(tool: string, args: Args, on: Pick<AssistantWorld, "callTool"> = assistant) {
  const { isError, structured, text } = await on.callTool(tool, args);
  expect([isError, Object.keys(structured)]).toEqual([true, ["error"]]);
  expect(text).toBe(JSON.stringify(structured));
  expect(structured.error.next).toMatch(/^[A-Z][^\n]*\.$/);
  return structured.error;
}

const plan = async (args: Args) => (await call("plan_links", args)).plan;
const rows = [{ path: "a", url: "https://a.example" }];
const refused = { effect: "none", retry: "never" };

describe("a call with the ID of a plan or job", () => {
  test.each([
    ["apply_plan", { plan_id: "nothing" }, "plan", "Make a plan first."],
    ["get_job", { job_id: "nothing" }, "job", "list of jobs"],
    ["cancel_job", { job_id: "nothing" }, "job", "list of jobs"],
    ["plan_links", { undo: "nothing" }, "job", "list of jobs"],
  ])("returns not_found if the ID does not exist: %s %j", async (tool, args, kind, next) => {
    const error = await fail(tool, args);
    const message = `This key has no ${kind} with this id.`;
    expect(error).toMatchObject({ ...refused, code: "not_found", message });
    expect(error.next).toContain(next);
  });

  test("returns not_found if another API key created the plan or job", async () => {
    const { id } = await plan({ operation: "upsert", rows });
    const { job } = await call("apply_plan", { plan_id: id });
    const key = await assistant.world.addKey({});
    const stranger = await assistant.connect({ era: "v1", key });
    for (const [tool, args] of [
      ["apply_plan", { plan_id: id }],
      ["get_job", { job_id: job.id }],
      ["cancel_job", { job_id: job.id }],
      ["plan_links", { undo: job.id }],
    ] as const) {
      expect((await fail(tool, args, stranger)).code).toBe("not_found");
    }
    const { structured } = await stranger.callTool("list_jobs");
    expect(structured).toMatchObject({ jobs: [], meta: { count: 0 } });
  });
});

describe("apply_plan", () => {
  test("rejects a plan with invalid rows, and lists each problem", async () => {
    const made = await plan({
      operation: "upsert",
      rows: [...rows, { path: "b", url: "ftp://b.example" }, { paht: "c" }],
    });
    expect(made.next).toContain("fix its problems with the user");
    const error = await fail("apply_plan", { plan_id: made.id });
    expect(error).toMatchObject({
      ...refused,
      code: "invalid_arguments",
      problems: [
        { field: "url", message: expect.stringContaining("Row 2: Url must be an http") },
        { field: "paht", message: expect.stringContaining("did you mean path?") },
      ],
    });
    expect(error.next).toContain("make a new plan");
    expect((await call("list_jobs")).jobs).toEqual([]);
  });

  test("rejects a plan with no rows or an unknown CSV column, and names the problem", async () => {
    for (const source of [{ rows: [] }, { csv: "" }, { csv: "path,colour\na,red\n" }]) {
      const { id, problems } = await plan({ operation: "upsert", ...source });
      expect(problems).toHaveLength(1);
      const error = await fail("apply_plan", { plan_id: id });
      expect(error.problems[0].message).toContain(problems[0].message);
    }
  });

  test("lists only the first 20 problems of a plan", async () => {
    const many = Array.from({ length: 60 }, (_, index) => ({ path: `p${index}`, url: "x" }));
    const { id, counts, problems } = await plan({ operation: "upsert", rows: many });
    expect([counts.invalid, problems.length]).toEqual([60, 50]);
    expect((await fail("apply_plan", { plan_id: id })).problems).toHaveLength(20);
  });

  test("rejects every row of a plan whose links were deleted after planning", async () => {
    const { id } = await assistant.plant("link", { path: "a", name: "Old" });
    const made = await plan({ operation: "update", rows: [{ path: "a", name: "New" }] });
    const { error: asked } = await call("apply_plan", { plan_id: made.id });
    await assistant.press(asked.approval.url, "approve");
    expect((await assistant.world.call("DELETE", `/links/${id}`)).status).toBe(204);
    const { job } = await call("apply_plan", { plan_id: made.id });
    expect(job).toMatchObject({ state: "done", counts: { done: 0, rejected: 1 } });
    const { receipts } = (await call("get_job", { job_id: job.id, page: 1 })).job;
    expect(receipts[0].message).toBe("plan_changed: the link no longer exists");
  });
});

test.each([
  [{ url: "ftp://a.example" }, "changes.url", /^Url must be an http or https address/],
  [{ path: "b" }, "changes.path", /^Path must be unique/],
  [{ options: { shorten: true } }, "changes.options.shorten", /^A link can get a short path/],
  [{ ios_app: { bundle_id: "a.b" } }, "changes", /is not registered/],
])(
  "plan_links returns an error that names the invalid field in its changes: %j",
  async (changes, field, message) => {
    await assistant.plant("link", { path: "a" });
    const filters = [{ field: "path", condition: "eq", value: "a" }];
    const error = await fail("plan_links", { operation: "update", filters, changes });
    expect(error).toMatchObject({ code: "validation_failed", effect: "none", retry: "now" });
    expect(error.problems).toEqual([{ field, message: expect.stringMatching(message) }]);
    expect(error.next).toContain("plan_links");
  },
);

test("a job cannot be undone while it is running", async () => {
  await using slow = await createAssistantWorld({ era: "v1", spacing_ms: 400 });
  const many = Array.from({ length: 20 }, (_, index) => ({ path: `p${index}` }));
  const { plan: made } = (await slow.callTool("plan_links", { operation: "upsert", rows: many }))
    .structured;
  const applying = slow.callTool("apply_plan", { plan_id: made.id });
  const readJob = async () => (await slow.callTool("list_jobs")).structured.jobs[0];
  // Wait for the first row, because a job without finished rows cannot be undone.
  await waitUntil(async () => (await readJob())?.counts.done > 0);
  const job = await readJob();
  expect(job.state).toBe("running");
  const error = await fail("plan_links", { undo: job.id }, slow);
  expect(error).toMatchObject({ code: "invalid_arguments", effect: "none" });
  expect(error.message).toContain("cancel it first");
  const seen = (await slow.callTool("get_job", { job_id: job.id })).structured.job;
  expect(seen.next).toContain("Read it by its id");
  let isOver = false;
  const cancelling = slow.callTool("cancel_job", { job_id: job.id });
  const ending = Promise.all([cancelling, applying]).then(() => (isOver = true));
  await waitUntil(async () => (await readJob()).state === "cancelled");
  // The job checks before each row whether it was cancelled.
  await waitUntil(() => {
    slow.advance(400);
    return isOver;
  });
  await ending;
  const { changes } = (await slow.callTool("list_changes")).structured;
  expect(changes).toMatchObject([{ tool: "apply_plan", note: "The job was cancelled." }]);
  expect((await slow.callTool("plan_links", { undo: job.id })).structured.plan).toMatchObject({
    undoes: job.id,
    counts: { conflict: 0 },
  });
});
