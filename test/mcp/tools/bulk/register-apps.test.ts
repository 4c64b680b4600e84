import { expect, test } from "vitest";
import { messages } from "../../../../src/contract/messages.ts";
import type { Scope } from "../../../../src/contract/rights.ts";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** A plan registers only apps that its approval showed, and only if the key has the permission. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

const bundle_id = "com.example.shop";
const registered = { bundle_id, team_id: "ABCDE12345" };
const ios_app = { bundle_id, team_id: "STRANGE123", app_store_id: "666" };
const row = { path: "new", url: "https://shop.example", ios_app };
const question = `registers the iOS app "${bundle_id}": Team ID: "STRANGE123"; App Store ID: "666"`;

async function planRows(rows: readonly object[]): Promise<string> {
  const { structured } = await assistant.callTool("plan_links", { operation: "upsert", rows });
  return structured.plan.id;
}

const apply = async (plan_id: string) => await assistant.call("apply_plan", { plan_id });

/** Starts a job for an approved plan, as if the process ended before the first row. */
async function startInterruptedJob(rows: readonly object[]): Promise<string> {
  const plan_id = await planRows(rows);
  const plan = await assistant.state.plans.find(plan_id);
  if (plan === undefined) throw new Error("the plan is missing");
  await assistant.state.jobs.open(plan);
  return plan_id;
}

test("a plan's new app needs approval even if another client registers it first", async () => {
  const plan_id = await planRows([row]);
  await assistant.plant("ios_app", registered);
  const { error } = await apply(plan_id);
  expect(error.code).toBe("approval_required");
  expect(error.approval.preview).toContain(question);
  expect(await assistant.state.jobs.findOfPlan(plan_id)).toBeUndefined();
});

test("the approval request shows a new app even if another client registers it first", async () => {
  await assistant.plant("link", { path: "old", name: "A" });
  const plan_id = await planRows([row, { path: "old", name: "B" }]);
  await assistant.plant("ios_app", registered);
  const { approval } = (await apply(plan_id)).error;
  expect(approval.preview).toContain(question);
  expect((await assistant.visit(approval.url)).html).toContain("STRANGE123");
});

test("an interrupted job registers its app without a second approval", async () => {
  const plan_id = await startInterruptedJob([row]);
  expect((await apply(plan_id)).job).toMatchObject({ state: "done", counts: { done: 1 } });
});

const writing: readonly Scope[] = ["links.index", "links.show", "links.create", "links.update"];
const shop = { bundle_id: "com.shop", team_id: "TEAM000001" };
const store = { package_name: "com.shop", fingerprints: ["AA:BB"] };

async function connect(scopes: readonly Scope[]) {
  const key = await assistant.world.addKey({ scopes });
  const { callTool } = await assistant.connect({ era: "v1", key });
  return async (tool: string, args: Record<string, unknown>) =>
    (await callTool(tool, args)).structured;
}

const plain = { path: "first", url: "https://a.example" };

test.each([
  [{ ios_app: shop }, "ios_apps.create", writing],
  [{ ios_app: shop }, "ios_apps.create", [...writing, "ios_apps.index"]],
  [{ android_app: store }, "android_apps.create", [...writing, "android_apps.index"]],
] as const)(
  "a plan that registers %j needs the permission %s in addition to %j",
  async (apps, scope, scopes) => {
    const call = await connect(scopes);
    const rows = [plain, { path: "second", ...apps }];
    const { error } = await call("plan_links", { operation: "upsert", rows });
    expect(error).toMatchObject({
      code: "scope_missing",
      message: messages.scope_missing(scope),
      effect: "none",
      retry: "never",
    });
    expect(assistant.writes).toEqual([]);
  },
);

test("plan_links rejects changes with a new app if the key may not register apps", async () => {
  await assistant.plant("link", { path: "first", name: "Spring" });
  const call = await connect([...writing, "ios_apps.index"]);
  const { error } = await call("plan_links", {
    operation: "update",
    filters: [{ field: "name", condition: "eq", value: "Spring" }],
    changes: { ios_app: shop },
  });
  expect(error).toMatchObject({ code: "scope_missing" });
});

test("a key that may not register apps can plan links with existing apps", async () => {
  await assistant.plant("ios_app", shop);
  const rows = [{ ...plain, ios_app: shop }];
  const seeing = await connect([...writing, "ios_apps.index"]);
  const { plan } = await seeing("plan_links", { operation: "upsert", rows });
  expect(plan.counts).toMatchObject({ create: 1, invalid: 0, conflict: 0 });
  // A bundle ID without other fields does not register an app.
  const named = [{ ...plain, ios_app: { bundle_id: shop.bundle_id } }];
  const blind = await connect(writing);
  const { plan: other } = await blind("plan_links", { operation: "upsert", rows: named });
  expect(other.counts).toMatchObject({ create: 1, invalid: 0, conflict: 0 });
});
