import { describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** A plan registers nothing that nobody was shown, whatever happens to the app meanwhile. */

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ spacing_ms: 0 }),
  async (opened) => {
    assistant = opened;
  },
);

const bundle_id = "com.example.shop";
const registered = { bundle_id, team_id: "ABCDE12345" };
const ios_app = { bundle_id, team_id: "STRANGE123", app_store_id: "666" };
const row = { path: "new", url: "https://shop.example", ios_app };
const question = `registers the iOS app "${bundle_id}": Team ID: "STRANGE123"; App Store ID: "666"`;

async function planRows(rows: readonly object[]): Promise<string> {
  const { structured } = await assistant.callTool("plan_links", { operation: "upsert", rows });
  return structured.plan.id;
}

const apply = async (plan_id: string) =>
  (await assistant.callTool("apply_plan", { plan_id })).structured;

/** A job that was approved and begun, and whose process ended before its first row. */
async function begin(rows: readonly object[]): Promise<string> {
  const plan_id = await planRows(rows);
  const plan = await assistant.state.plans.find(plan_id);
  if (plan === undefined) throw new Error("the plan is not there");
  await assistant.state.jobs.open(plan);
  return plan_id;
}

describe("an app that was registered since the plan was made", () => {
  test("is asked for: deleted again, it would be registered by the plan", async () => {
    const plan_id = await planRows([row]);
    await assistant.plant("ios_app", registered);
    const { error } = await apply(plan_id);
    expect(error.code).toBe("approval_required");
    expect(error.approval.preview).toContain(question);
    expect(await assistant.state.jobs.findOfPlan(plan_id)).toBeUndefined();
  });

  test("is announced to whoever approves of other rows", async () => {
    await assistant.plant("link", { path: "old", name: "A" });
    const plan_id = await planRows([row, { path: "old", name: "B" }]);
    await assistant.plant("ios_app", registered);
    const { approval } = (await apply(plan_id)).error;
    expect(approval.preview).toContain(question);
    expect((await assistant.visit(approval.url)).html).toContain("STRANGE123");
  });
});

describe("an interrupted job", () => {
  test("goes on to register an app without a second approval", async () => {
    const plan_id = await begin([row]);
    expect((await apply(plan_id)).job).toMatchObject({ state: "done", counts: { done: 1 } });
  });
});
