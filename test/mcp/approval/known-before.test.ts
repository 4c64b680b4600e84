import { describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { callDone, callRefused, type Args } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";

/** Users are not asked to approve calls that are already known to fail. */

const springUrl = "https://example.com/spring";
const otherUrl = "https://other.example/spring";
const iosApp = { bundle_id: "com.example.shop", team_id: "ABCDE12345" };
const print = Array.from({ length: 32 }, () => "AB").join(":");
const androidApp = { package_name: "com.example.shop", fingerprints: [print] };
const unknownId = "00000000-0000-4000-8000-000000000000";

let assistant: AssistantWorld;

async function expectRejected(
  tool: string,
  args: Args,
  message: string,
  code = "validation_failed",
) {
  const error = await callRefused(assistant, tool, args);
  expect(error).toMatchObject({ code, message, effect: "none" });
  return error;
}

async function connect(key: string): Promise<void> {
  assistant = { ...assistant, ...(await assistant.connect({ key })) };
}

async function expectApprovalRequired(tool: string, args: Args = {}) {
  const { code, approval } = await callRefused(assistant, tool, args);
  expect(code).toBe("approval_required");
  return approval;
}

async function readApiError(method: string, path: string, body: unknown): Promise<unknown> {
  return (await assistant.world.call(method, path, { body })).body.error;
}

describe.each([
  ["the embedded service", false],
  ["a remote server", true],
])("a call on %s, before it asks for approval", (_, isRemote) => {
  openForEach(
    () => createAssistantWorld({ isRemote }),
    async (opened) => {
      assistant = opened;
      await assistant.plant("ios_app", iosApp);
      await assistant.plant("android_app", androidApp);
    },
  );

  test("register_ios_app reports all problems, such as a bundle ID in use", async () => {
    const args = { bundle_id: "com.example.shop", team_id: "X", clip_bundle_id: "a b" };
    const message =
      "Bundle has already been taken, Team is the wrong length (should be 10 characters), and " +
      "Clip bundle is invalid";
    expect(await readApiError("POST", "/ios_apps", { ios_app: args })).toBe(message);
    const { problems } = await expectRejected("register_ios_app", args, message);
    expect(problems.map(({ field }: { field: string }) => field)).toEqual([
      "bundle_id",
      "team_id",
      "clip_bundle_id",
    ]);
    await expectRejected("register_ios_app", iosApp, "Bundle has already been taken");
  });

  test("register_android_app reports all problems, such as a package name in use", async () => {
    const args = { package_name: "com.example.shop", fingerprints: ["AB:CD", "nothing"] };
    const message = "Package name has already been taken and Fingerprints is invalid";
    expect(await readApiError("POST", "/android_apps", { android_app: args })).toBe(message);
    await expectRejected("register_android_app", args, message);
    await expectRejected("register_android_app", androidApp, "Package name has already been taken");
  });

  test("update_ios_app and update_android_app reject an identifier of another app", async () => {
    const { id } = await assistant.plant("ios_app", { ...iosApp, bundle_id: "com.example.b" });
    const taken = { id, bundle_id: "com.example.shop", team_id: "X" };
    const message =
      "Bundle has already been taken and Team is the wrong length (should be 10 characters)";
    await expectRejected("update_ios_app", taken, message);
    const android = { ...androidApp, package_name: "com.example.b" };
    const { id: androidId } = await assistant.plant("android_app", android);
    await expectRejected(
      "update_android_app",
      { id: androidId, package_name: "com.example.shop" },
      "Package name has already been taken",
    );
    const kept = { id, bundle_id: "com.example.b", team_id: "ABCDE54321" };
    await expectApprovalRequired("update_ios_app", kept);
  });

  test("a path that is another link's path or short path is rejected", async () => {
    await assistant.plant("link", { path: "taken" });
    const short = await assistant.plant("link", { path: "long", options: { shorten: true } });
    const { shortened_path } = (await assistant.world.call("GET", `/links/${short.id}`)).body;
    const { id } = await assistant.plant("link", { path: "spring", url: springUrl });
    const message = "Path has already been taken";
    await expectRejected("update_link", { id, url: otherUrl, path: "/taken" }, message);
    await expectRejected("update_link", { id, url: otherUrl, path: shortened_path }, message);
    const android_app = { package_name: "com.example.new", fingerprints: [print] };
    await expectRejected("create_link", { path: "taken", android_app }, message);
    await expectRejected("upsert_link", { path: shortened_path, android_app }, message);
    await expectApprovalRequired("update_link", { id, url: otherUrl, path: "spring" });
  });

  test("a link write with an unknown app ID is rejected", async () => {
    const { id } = await assistant.plant("link", { path: "spring", url: springUrl });
    const apps = { ios_app: { id: unknownId }, android_app: { id: unknownId } };
    const message = "iOS app not found and Android app not found";
    expect(await readApiError("PATCH", `/links/${id}`, apps)).toBe(message);
    await expectRejected("update_link", { id, url: otherUrl, ...apps }, message);
    await expectRejected("upsert_link", { path: "spring", url: otherUrl, ...apps }, message);
  });

  test("a provider token without a campaign token is rejected", async () => {
    const { id } = await assistant.plant("link", { path: "spring", url: springUrl });
    const message = "Provider token must be sent together with campaign token";
    await expectRejected("update_link", { id, url: otherUrl, provider_token: "1" }, message);
  });

  test("a subdomain or custom domain of another project is rejected", async () => {
    const { world } = assistant;
    await world.addProject({ name: "A", subdomain: "taken", custom_domain: "go.example.com" });
    const { id } = await world.addProject({ name: "B", subdomain: "mine" });
    await using master = await createAssistantWorld({ key: world.master, isRemote, beside: world });
    assistant = master;
    const args = { id, subdomain: "Taken", custom_domain: "go.example.com", name: "" };
    const message =
      "Name can't be blank, Subdomain has already been taken, and Custom domain has already " +
      "been taken";
    const said = await world.call("PATCH", `/projects/${id}`, {
      key: world.master,
      body: { project: args },
    });
    expect(said.body.error).toBe(message);
    await expectRejected("update_project", args, message);
  });

  test("publish_template is rejected if the rate limit for templates is exceeded", async () => {
    const body = "<h1>Hello</h1>{% store_buttons %}";
    for (let spent = 0; spent < 60; spent += 1) {
      await callDone(assistant, "preview_template", { body });
    }
    const error = await callRefused(assistant, "publish_template", { body, css: "" });
    expect(error).toMatchObject({ code: "rate_limited", effect: "none", retry: "later" });
    assistant.advance(61_000);
    await expectApprovalRequired("publish_template", { body, css: "" });
  });
});

describe("a call that only the embedded service can reject before it asks for approval", () => {
  openForEach(createAssistantWorld, (opened) => {
    assistant = opened;
  });

  test("a link write that the project's pricing plan does not allow is rejected", async () => {
    const { world } = assistant;
    const project = await world.addProject({ subdomain: "free", plan: "free", max_links: 1 });
    const key = await world.addKey({ project });
    const body = { path: "spring", url: springUrl };
    expect((await world.call("POST", "/links", { key, body })).status).toBe(201);
    await connect(key);
    const pro = { id: "spring", url: otherUrl, referrer: "a=b" };
    const needsPro = "The Pro plan is needed for referrer.";
    await expectRejected("update_link", pro, needsPro, "plan_required");
    const ios_app = iosApp;
    const isFull = "The Free plan allows 1 link, and the project has reached this limit.";
    await expectRejected("create_link", { path: "new", ios_app }, isFull, "plan_required");
    await expectApprovalRequired("update_link", { id: "spring", ios_app });
  });

  test("plan_links and apply_plan report rows that the pricing plan does not allow", async () => {
    const { world } = assistant;
    const project = await world.addProject({ subdomain: "free", plan: "free", max_links: 2 });
    const key = await world.addKey({ project });
    const body = { path: "spring", url: springUrl };
    expect((await world.call("POST", "/links", { key, body })).status).toBe(201);
    await connect(key);
    const needsPro = "The Pro plan is needed for referrer.";
    const paid = { path: "spring", url: otherUrl, referrer: "a=b" };
    const faulty = await callDone(assistant, "plan_links", { operation: "upsert", rows: [paid] });
    expect(faulty.plan).toMatchObject({ counts: { invalid: 1 } });
    expect(JSON.stringify(faulty.plan)).toContain(needsPro);
    const filters = [{ field: "path", condition: "eq", value: "spring" }];
    const shared = { operation: "update", filters, changes: { referrer: "a=b" } };
    await expectRejected("plan_links", shared, needsPro, "plan_required");
    const rows = [{ path: "spring", url: otherUrl }, { path: "summer" }, { path: "autumn" }];
    const { plan } = await callDone(assistant, "plan_links", { operation: "upsert", rows });
    expect(plan.counts).toMatchObject({ update: 1, create: 1, conflict: 1 });
    expect(JSON.stringify(plan)).toContain("The Free plan allows 2 links");
    await expectApprovalRequired("apply_plan", { plan_id: plan.id });
    // Another call creates the last link of the pricing plan after plan_links ran.
    const late = { key, body: { path: "winter", url: springUrl } };
    expect((await world.call("POST", "/links", late)).status).toBe(201);
    const isFull = "The Free plan allows 2 links, and the project has reached this limit.";
    await expectRejected("apply_plan", { plan_id: plan.id }, isFull, "plan_required");
  });

  test("a path that is another link's additional short path is rejected", async () => {
    const { world } = assistant;
    await assistant.plant("link", { path: "long", url: springUrl });
    const url = "http://default.localhost:8787/long?from=poster";
    const short = await world.call("POST", "/short_links", { body: { url } });
    const { shortened_path } = short.body;
    const { id } = await assistant.plant("link", { path: "spring", url: springUrl });
    expect(await readApiError("PATCH", `/links/${id}`, { path: shortened_path })).toBe(
      "Path has already been taken",
    );
    const args = { id, url: otherUrl, path: shortened_path };
    await expectRejected("update_link", args, "Path has already been taken");
  });

  test("a plan that uses another link's additional short path reports a conflict", async () => {
    const { world } = assistant;
    await assistant.plant("link", { path: "long", url: springUrl });
    const body = { url: "http://default.localhost:8787/long?from=poster", prefix: "go-" };
    const short = (await world.call("POST", "/short_links", { body })).body.shortened_path;
    const { id } = await assistant.plant("link", { path: "spring", url: springUrl });
    for (const [operation, row] of [
      ["upsert", { path: short, url: otherUrl }],
      ["update", { id, path: short }],
    ]) {
      const { plan } = await callDone(assistant, "plan_links", { operation, rows: [row] });
      expect(plan.counts).toMatchObject({ conflict: 1 });
    }
    const filters = [{ field: "path", condition: "eq", value: "spring" }];
    const replace = [{ field: "path", match: "text", from: "spring", to: short }];
    const byRule = { operation: "update", filters, replace };
    const { plan } = await callDone(assistant, "plan_links", byRule);
    expect(plan.counts).toMatchObject({ conflict: 1 });
  });

  test("upsert_link is rejected if the link exists and the key may not update links", async () => {
    await assistant.plant("link", { path: "spring", url: springUrl });
    const scopes = ["links.index", "links.show", "links.create"] as const;
    await connect(await assistant.world.addKey({ scopes }));
    const args = { path: "spring", url: otherUrl };
    const { message } = await callRefused(assistant, "upsert_link", args);
    expect(message).toContain("links.update");
  });

  test("save_template rejects an invalid draft", async () => {
    const body = "<h1>Hello</h1>{% store_buttons %}";
    for (let saved = 0; saved < 21; saved += 1) {
      await callDone(assistant, "save_template", { body: `${body}${saved}` });
    }
    const { code } = await callRefused(assistant, "save_template", { body: "<p>No buttons</p>" });
    expect(code).toBe("validation_failed");
    await expectApprovalRequired("save_template", { body });
  });

  test("undoing an app's deletion is rejected if its bundle ID is in use again", async () => {
    const { id } = await assistant.plant("ios_app", iosApp);
    const { url } = await expectApprovalRequired("delete_ios_app", { id });
    await assistant.press(url, "approve");
    await callDone(assistant, "delete_ios_app", { id });
    await expectApprovalRequired("undo");
    await assistant.plant("ios_app", iosApp);
    await expectRejected("undo", {}, "Bundle has already been taken");
  });

  test("undoing a link update fails if the old path is in use or the old app is gone", async () => {
    const app = await assistant.plant("ios_app", iosApp);
    const ios_app = { id: app.id };
    const { id } = await assistant.plant("link", { path: "spring", url: springUrl, ios_app });
    const args = { id, path: "summer", url: otherUrl, ios_app: null };
    const { url } = await expectApprovalRequired("update_link", args);
    await assistant.press(url, "approve");
    await callDone(assistant, "update_link", args);
    await expectApprovalRequired("undo");
    await assistant.plant("link", { path: "spring" });
    expect((await assistant.world.call("DELETE", `/ios_apps/${app.id}`)).status).toBe(204);
    const message = "Path has already been taken and iOS app not found";
    await expectRejected("undo", {}, message);
  });
});
