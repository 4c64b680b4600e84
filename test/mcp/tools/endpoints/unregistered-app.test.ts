import { beforeEach, describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** A link with an unregistered app is rejected, and the error lists the registered apps. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

const shop = { bundle_id: "com.acme.shop", team_id: "ABCDE12345", name: "Acme Shop" };
const legacy = { bundle_id: "com.acme.legacy", team_id: "ABCDE12345" };
const android = { package_name: "com.acme.shop", fingerprints: ["AA:BB"], name: "Acme Shop" };
const mistyped = { bundle_id: "com.acme.shpo" };

beforeEach(async () => {
  await assistant.plant("ios_app", shop);
  await assistant.plant("ios_app", legacy);
  await assistant.plant("android_app", android);
  await assistant.plant("link", { path: "spring" });
});

const known = '"Acme Shop" (com.acme.shop), com.acme.legacy';
const message = `The iOS app com.acme.shpo is not registered; registered: ${known}`;
const meant = 'did you mean "Acme Shop" (com.acme.shop)?';

test.each([
  ["create_link", {}],
  ["upsert_link", { path: "spring" }],
  ["update_link", { id: "spring" }],
])(
  "%s with an unregistered app returns an error that suggests the most similar app",
  async (tool, args) => {
    const { structured } = await assistant.callTool(tool, { ...args, ios_app: mistyped });
    const fix = `${meant} A new app needs its exact Team ID from the developer: do not guess`;
    expect(structured.error).toEqual({
      code: "validation_failed",
      message,
      problems: [{ field: "ios_app.bundle_id", message, fix }],
      effect: "none",
      retry: "now",
      next: "Ask the user which iOS app they mean, or for the Team ID of a new one. Do not guess.",
    });
    expect(assistant.writes).toEqual([]);
  },
);

test("the error for an unregistered Android app says to ask for its fingerprints", async () => {
  const android_app = { package_name: "org.other" };
  const { error } = await assistant.call("create_link", { android_app });
  expect(error.message).toBe(
    'The Android app org.other is not registered; registered: "Acme Shop" (com.acme.shop)',
  );
  expect(error.next).toBe(
    "Ask the user which Android app they mean, or for the SHA-256 fingerprints of a new one. " +
      "Do not guess.",
  );
});

describe("an app's name in place of its bundle ID", () => {
  test("is accepted if only one app has this name", async () => {
    const ios_app = { bundle_id: "acme shop" };
    const android_app = { package_name: "Acme Shop" };
    const args = { path: "named", ios_app, android_app };
    expect((await assistant.callTool("create_link", args)).isError).toBe(false);
    const { link } = await assistant.call("get_link", { id: "named" });
    expect(link).toMatchObject({ ios_app: "Acme Shop", android_app: "Acme Shop" });
  });

  test("is rejected with a suggestion if an app has a similar name", async () => {
    const ios_app = { bundle_id: "acme shpo" };
    const { error } = await assistant.call("create_link", { ios_app });
    expect(error.problems[0].fix).toContain(meant);
  });

  test("is rejected with a list of apps if two apps have this name", async () => {
    await assistant.plant("ios_app", { ...shop, bundle_id: "com.acme.other" });
    const ios_app = { bundle_id: "Acme Shop" };
    const { error } = await assistant.call("create_link", { ios_app });
    expect(error.message).toBe('More than one iOS app matches "Acme Shop".');
    expect(error.problems).toHaveLength(2);
    expect(assistant.writes).toEqual([]);
  });
});

test("the error for an unregistered app lists up to five apps and counts the rest", async () => {
  for (let number = 0; number < 6; number += 1) {
    await assistant.plant("ios_app", { ...legacy, bundle_id: `com.acme.n${number}` });
  }
  const { error } = await assistant.call("create_link", { ios_app: mistyped });
  expect(error.message).toMatch(/com\.acme\.n2, 3 more$/);
});

test("the error for an unregistered app is short in a project without apps", async () => {
  await using empty = await createAssistantWorld();
  const { error } = (await empty.callTool("create_link", { ios_app: mistyped })).structured;
  expect(error.message).toBe("The iOS app com.acme.shpo is not registered");
});

test("the error for an unregistered app escapes hostile names of registered apps", async () => {
  await assistant.plant("ios_app", { ...legacy, bundle_id: "a.b", name: "Pay\u202e\nnow" });
  const { error } = await assistant.call("create_link", { ios_app: mistyped });
  expect(error.message).toContain(String.raw`"Pay\\u{202e} now" (a.b)`);
});

test("an incomplete app registration is rejected without sending a request", async () => {
  const ios_app = { ...mistyped, app_store_id: "123" };
  const { error } = await assistant.call("create_link", { ios_app });
  expect(error).toMatchObject({ code: "validation_failed", message });
});

test("a plan with an unregistered app lists the registered apps and suggests a fix", async () => {
  const rows = [{ path: "new", ios_app: mistyped }];
  const { plan } = (await assistant.callTool("plan_links", { operation: "upsert", rows }))
    .structured;
  expect(plan.counts.conflict).toBe(1);
  expect(plan.sample).toMatchObject([
    { message: `${message}; register it first, or leave it out` },
  ]);
});

describe("the next step after a rejection", () => {
  test.each([
    ["register_ios_app", { bundle_id: "a.b" }],
    ["register_android_app", { package_name: "a.b", fingerprints: ["AABB"] }],
    ["create_link", { ios_app: { bundle_id: "a.b", team_id: "short" } }],
  ])(
    "is to ask the user for values that only an app's developer knows: %s %j",
    async (tool, args) => {
      const { structured } = await assistant.callTool(tool, args);
      expect(structured.error.next).toBe(
        `Ask the user for the values named in \`problems\` (never invent them) and call ${tool} ` +
          "again.",
      );
    },
  );

  test("is to correct the call if the assistant can do so without the user", async () => {
    const { structured } = await assistant.callTool("create_link", { url: "nowhere" });
    expect(structured.error.next).toBe(
      "Correct the fields named in `problems` and call create_link again.",
    );
  });
});
