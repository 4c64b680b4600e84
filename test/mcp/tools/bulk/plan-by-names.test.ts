import { beforeEach, describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** A plan names links and apps in the ways that a person does. */

let assistant: AssistantWorld;
let shop: { readonly id: string };
let legacy: { readonly id: string };

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  async (opened) => {
    assistant = opened;
    const team_id = "ABCDE12345";
    const plant = (bundle_id: string, name: string) =>
      assistant.plant("ios_app", { bundle_id, team_id, name });
    shop = await plant("com.acme.shop", "Acme Shop");
    legacy = await plant("com.acme.legacy", "Acme Legacy");
  },
);

async function call(tool: string, args: Record<string, unknown> = {}) {
  return (await assistant.callTool(tool, args)).structured;
}

async function readLink(id: string) {
  return (await assistant.world.call("GET", `/links/${id}`)).body;
}

describe("all links that open one app are to open another", () => {
  let old: { readonly id: string };

  beforeEach(async () => {
    old = await assistant.plant("link", { path: "old", ios_app: { id: legacy.id } });
  });

  test.each([
    { bundle_id: "Acme Shop" },
    { id: "Acme Shop" },
    { id: "acme shop" },
    { bundle_id: "com.acme.shop" },
    { id: "com.acme.shop" },
  ])("by %j, in two calls", async (ios_app) => {
    const { plan, error } = await call("plan_links", {
      operation: "update",
      filters: [{ field: "ios_app_name", condition: "eq", value: "Acme Legacy" }],
      changes: { ios_app },
    });
    expect(plan?.counts, JSON.stringify(error)).toMatchObject({ update: 1 });
    expect((await call("apply_plan", { plan_id: plan.id })).job).toMatchObject({ state: "done" });
    expect((await readLink(old.id)).ios_app_id).toBe(shop.id);
  });

  test("by rows as well", async () => {
    for (const ios_app of [{ bundle_id: "Acme Shop" }, { id: "Acme shop" }]) {
      const rows = [{ path: "old", ios_app }];
      const { plan } = await call("plan_links", { operation: "update", rows });
      expect(plan.counts, JSON.stringify(plan)).toMatchObject({ update: 1, invalid: 0 });
    }
    const csv = 'path,ios_app.bundle_id\nold,"Acme Shop"';
    const { plan } = await call("plan_links", { operation: "update", csv });
    expect(plan.counts, JSON.stringify(plan)).toMatchObject({ update: 1, invalid: 0 });
  });

  test("with the apps read once", async () => {
    const rows = Array.from({ length: 300 }, (_, row) => {
      return { path: `n${row}`, ios_app: { id: row % 2 ? "Acme Shop" : "Acme Legacy" } };
    });
    const before = assistant.countAsked();
    const { plan } = await call("plan_links", { operation: "upsert", rows });
    expect(plan.counts).toMatchObject({ create: 300 });
    // Each hundred of paths twice, as paths and as short ones; the apps once for all rows, and once
    // for the sample's names.
    expect(assistant.countAsked() - before).toBeLessThanOrEqual(8);
  });
});

test("an app that two are called, or none, is refused with those there are", async () => {
  await assistant.plant("ios_app", {
    bundle_id: "com.acme.shop2",
    team_id: "ABCDE12345",
    name: "Acme Shop",
  });
  const rows = ["Acme Shop", "Acme Legcy"].map((id, row) => ({ path: `p${row}`, ios_app: { id } }));
  const { plan } = await call("plan_links", { operation: "upsert", rows });
  const [several, mistyped] = plan.problems;
  expect(several).toMatchObject({
    row: 1,
    field: "ios_app",
    message:
      'More than one iOS app is called "Acme Shop": ' +
      '"Acme Shop" (com.acme.shop), "Acme Shop" (com.acme.shop2)',
  });
  expect(mistyped.message).toContain('did you mean "Acme Legacy" (com.acme.legacy)?');
  expect(plan.problems).toHaveLength(2);
});
