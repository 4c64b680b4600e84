import { beforeEach, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";

/** A change of a link's app shows the names of both apps. */

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  (opened) => (assistant = opened),
);

const team_id = "ABCDE12345";
const legacy = { bundle_id: "com.acme.legacy", team_id, name: "Acme Legacy" };
const shop = { bundle_id: "com.acme.shop", team_id, name: "Acme Shop" };
const moved = { from: "Acme Legacy", to: "Acme Shop" };

beforeEach(async () => {
  await assistant.plant("ios_app", legacy);
  await assistant.plant("ios_app", shop);
  await assistant.plant("link", { path: "spring", ios_app: { bundle_id: legacy.bundle_id } });
});

const call: AssistantWorld["call"] = (...asked) => assistant.call(...asked);

test.each([{ bundle_id: shop.bundle_id }, { id: "Acme Shop" }])(
  "after a link's app is replaced, the result and the history name both apps: %j",
  async (ios_app) => {
    const { change } = await call("update_link", { id: "spring", ios_app });
    expect(change.fields).toEqual({ ios_app: moved });
    expect((await call("list_changes")).changes[0].fields).toEqual({ ios_app: moved });
    const undone = await call("undo");
    expect(undone.change.fields).toEqual({ ios_app: { from: moved.to, to: moved.from } });
  },
);

test("a plan that replaces an app names both apps in its sample and its rows", async () => {
  const ios_app = { bundle_id: shop.bundle_id };
  const byRows = { operation: "update", rows: [{ path: "spring", ios_app }] };
  const filters = [{ field: "path", condition: "eq", value: "spring" }];
  const byFilters = { operation: "update", filters, changes: { ios_app } };
  for (const wanted of [byRows, byFilters]) {
    const { plan } = await call("plan_links", wanted);
    expect(plan.sample[0].changes).toEqual({ ios_app: moved });
    const [page] = (await assistant.readResource(plan.uri)).contents;
    expect(JSON.parse(page?.text ?? "").rows[0].changes).toEqual({ ios_app: moved });
  }
});

test("two apps with the same name are shown with their bundle IDs", async () => {
  await assistant.plant("ios_app", { ...legacy, bundle_id: "com.acme.old", name: "ACME shop" });
  const { change } = await call("update_link", { id: "spring", ios_app: { id: "com.acme.shop" } });
  expect(change.fields.ios_app.to).toBe("Acme Shop (com.acme.shop)");
});

test("the result of removing a link's app contains the app's name", async () => {
  const { change } = await call("update_link", { id: "spring", ios_app: null });
  expect(change.fields.ios_app.from).toBe("Acme Legacy");
  expect(change.fields.ios_app.to ?? null).toBeNull();
});

test("a change contains app IDs instead of names if the key may not read apps", async () => {
  const scopes = ["links.index", "links.show", "links.update"] as const;
  const key = await assistant.world.addKey({ scopes });
  const { callTool } = await assistant.connect({ key });
  const { structured } = await callTool("update_link", { id: "spring", ios_app: null });
  expect(structured.change.fields.ios_app_id.from).toMatch(/^[\da-f-]{36}$/);
});

test("an update that does not change an app causes no requests for app names", async () => {
  const before = assistant.countAsked();
  await call("update_link", { id: "spring", name: "Spring" });
  const plain = assistant.countAsked() - before;
  await call("update_link", { id: "spring", name: "Summer" });
  expect(assistant.countAsked() - before).toBe(2 * plain);
  expect(plain).toBeLessThanOrEqual(4);
});
