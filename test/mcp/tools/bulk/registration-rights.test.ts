import { expect, test } from "vitest";
import { messages } from "../../../../src/contract/messages.ts";
import type { Scope } from "../../../../src/contract/scopes-and-roles.ts";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** A plan whose rows would register apps, for a key that may not: refused before anything is. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

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
] as const)("%j needs %s where the key has %j", async (apps, scope, scopes) => {
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
});

test("changes of many links by filters need the right to register as well", async () => {
  await assistant.plant("link", { path: "first", name: "Spring" });
  const call = await connect([...writing, "ios_apps.index"]);
  const { error } = await call("plan_links", {
    operation: "update",
    filters: [{ field: "name", condition: "eq", value: "Spring" }],
    changes: { ios_app: shop },
  });
  expect(error).toMatchObject({ code: "scope_missing" });
});

test("a key that may not register chooses apps that are there", async () => {
  await assistant.plant("ios_app", shop);
  const rows = [{ ...plain, ios_app: shop }];
  const seeing = await connect([...writing, "ios_apps.index"]);
  const { plan } = await seeing("plan_links", { operation: "upsert", rows });
  expect(plan.counts).toMatchObject({ create: 1, invalid: 0, conflict: 0 });
  // Without the right to see the apps, the name alone says that nothing is to be registered.
  const named = [{ ...plain, ios_app: { bundle_id: shop.bundle_id } }];
  const blind = await connect(writing);
  const { plan: other } = await blind("plan_links", { operation: "upsert", rows: named });
  expect(other.counts).toMatchObject({ create: 1, invalid: 0, conflict: 0 });
});

test("a key that may register plans as before", async () => {
  const call = await connect([...writing, "ios_apps.index", "ios_apps.create"]);
  const rows = [{ ...plain, ios_app: shop }];
  const { plan } = await call("plan_links", { operation: "upsert", rows });
  expect(plan.counts).toMatchObject({ create: 1 });
});
