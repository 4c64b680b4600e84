import { describe, expect, test } from "vitest";
import { approvalRules } from "../../../src/contract/rules/approval-rules.ts";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";
import { createStrangeWorld } from "../../support/remote.ts";
import { readAccess } from "../../support/stage.ts";

/** Tests which changes need an approval. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

type Args = Readonly<Record<string, unknown>>;

const call: AssistantWorld["call"] = (...asked) => assistant.call(...asked);

async function readPreview(tool: string, args: Args): Promise<string | undefined> {
  const { error } = await call(tool, args);
  if (error === undefined) return undefined;
  expect(error).toMatchObject({ code: "approval_required", effect: "none" });
  return error.approval.preview;
}

const approve: AssistantWorld["approve"] = (...asked) => assistant.approve(...asked);

const springUrl = "https://example.com/spring";
const print = Array.from({ length: 32 }, () => "AB").join(":");
const iosApp = { bundle_id: "com.example.app", team_id: "ABCDE12345" };
const androidApp = { package_name: "com.example.app", fingerprints: [print] };

const ios = (address: string) => ({ ios_fallback_url: address });
const android = (address: string) => ({ android_fallback_url: address });
const play = (id: string) => `https://play.google.com/store/apps/details?id=${id}`;

describe("an existing link", () => {
  const otherDestinations: readonly (readonly [string, Args, Args])[] = [
    ["to another host", { url: springUrl }, { url: "https://evil.example/spring" }],
    ["to another port", { url: springUrl }, { url: "https://example.com:8443/spring" }],
    [
      "to a host whose name starts the same",
      { url: springUrl },
      { url: "https://example.com.evil.test/" },
    ],
    ["to an empty URL", { url: springUrl }, { url: "" }],
    ["to null", { url: springUrl }, { url: null }],
    ["to another host for iOS", ios(springUrl), ios("https://evil.example")],
    ["to another host by adding an iOS fallback URL", { url: springUrl }, ios("https://e.test")],
    [
      "to another host by adding an Android fallback URL",
      { url: springUrl },
      android("https://e.test"),
    ],
    ["from the web to a store", android(play("com.a")), android("market://details?id=com.a")],
    [
      "to another app in the store",
      android("market://details?id=com.a"),
      android("market://details?id=com.b"),
    ],
    ["to another app's store page", android(play("com.a")), android(play("com.b"))],
    [
      "from a store to the web",
      ios("itms-apps://apps.apple.com/app/id1"),
      ios("https://apps.apple.com/app/id1"),
    ],
    ["to another host for Android", android(springUrl), android("https://e.test")],
  ];

  test.each(otherDestinations)(
    "can be pointed %s only with an approval",
    async (_, before, change) => {
      const { id } = await assistant.plant("link", { path: "spring", ...before });
      expect(await readPreview("update_link", { id, ...change })).toContain("→");
      expect(await readPreview("upsert_link", { path: "spring", ...change })).toContain("→");
      expect(assistant.writes).toEqual([]);
    },
  );

  const invalid: readonly (readonly [string, Args, string])[] = [
    ["a relative URL", { url: "//evil.example" }, "Url must be an http or https address"],
    ["a URL with a line break", { url: "https://b.example/\n" }, "Url contains control"],
    ["a URL with a password", { ios_fallback_url: "https://:p@b.example" }, "Ios fallback url"],
    ["an app with invalid IDs", { ios_app: { bundle_id: "a b", team_id: "1" } }, "Bundle"],
  ];

  test.each(invalid)("cannot get %s, and no approval is requested", async (_, change, message) => {
    const { id } = await assistant.plant("link", { path: "spring", url: springUrl });
    for (const [tool, args] of [
      ["update_link", { id, ...change }],
      ["upsert_link", { path: "spring", ...change }],
    ] as const) {
      const { error } = await call(tool, args);
      expect(error).toMatchObject({ code: "validation_failed", status: 422, effect: "none" });
      expect(error.message).toContain(message);
      const reply = await assistant.world.call("PATCH", `/links/${id}`, { body: change });
      expect(reply).toMatchObject({ status: 422, body: { error: error.message } });
    }
    expect(assistant.writes).toEqual([]);
  });

  test("of a remote server needs an approval for a URL in an unknown format", async () => {
    const { id } = await assistant.plant("link", { path: "spring", url: springUrl });
    await using remote = await createAssistantWorld({ isRemote: true, beside: assistant.world });
    const args = { id, url: "//evil.example" };
    const { error } = await remote.call("update_link", args);
    expect(error.code).toBe("approval_required");
  });

  test.each([
    ["a first destination", {}, { url: springUrl, ios_fallback_url: "https://other.example" }],
    [
      "a first fallback URL on the same host",
      { url: springUrl },
      { ios_fallback_url: "https://example.com/a" },
    ],
    [
      "another page on the same host",
      { url: springUrl },
      { url: "https://EXAMPLE.com/summer?a=1" },
    ],
    ["its current destination", { url: springUrl }, { url: springUrl }],
    ["a different name", { url: springUrl }, { name: "Summer", social_title: "Sale" }],
  ])("can get %s without an approval", async (_, before, change) => {
    const { id } = await assistant.plant("link", { path: "spring", ...before });
    expect(await readPreview("update_link", { id, ...change })).toBeUndefined();
    expect(await readPreview("upsert_link", { path: "spring", ...change })).toBeUndefined();
  });

  test("needs an approval before its app is replaced or removed", async () => {
    const one = await assistant.plant("ios_app", iosApp);
    const other = await assistant.plant("ios_app", { ...iosApp, bundle_id: "com.other" });
    const { id } = await assistant.plant("link", { path: "a", ios_app: { id: one.id } });
    const choices = [{ id: other.id }, { bundle_id: "com.other" }, null];
    for (const ios_app of choices) {
      expect(
        await readPreview("update_link", { id, ios_app }),
        JSON.stringify(ios_app),
      ).toBeDefined();
    }
    const same = [{ id: one.id }, { id: one.id.toUpperCase() }, { bundle_id: iosApp.bundle_id }];
    for (const ios_app of same) {
      expect(await readPreview("update_link", { id, ios_app })).toBeUndefined();
    }
  });

  test("can get its first app without an approval only if it has no destination", async () => {
    const app = await assistant.plant("ios_app", iosApp);
    const bare = await assistant.plant("link", { path: "bare" });
    const led = await assistant.plant("link", { path: "led", url: springUrl });
    const ios_app = { id: app.id };
    expect(await readPreview("update_link", { id: bare.id, ios_app })).toBeUndefined();
    expect(await readPreview("update_link", { id: led.id, ios_app })).toBeDefined();
    expect(await readPreview("update_link", { id: led.id, ios_app: null })).toBeUndefined();
  });

  test("needs an approval for its first fallback URL if it has an app", async () => {
    const app = await assistant.plant("ios_app", { ...iosApp, app_store_id: "1" });
    const { id } = await assistant.plant("link", { path: "a", ios_app: { id: app.id } });
    expect(await readPreview("update_link", { id, ios_fallback_url: springUrl })).toBeDefined();
    expect(
      await readPreview("update_link", { id, android_fallback_url: springUrl }),
    ).toBeUndefined();
  });

  test("needs an approval for a new destination if the key cannot read the link", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    const key = await assistant.world.addKey({ scopes: ["links.update"] });
    const { callTool } = await assistant.connect({ key });
    for (const change of [{ url: springUrl }, { path: "summer" }, { ios_app: null }]) {
      const { error } = (await callTool("update_link", { id, ...change })).structured;
      expect(error).toMatchObject({ code: "approval_required" });
    }
    expect((await callTool("update_link", { id, name: "Other" })).isError).toBe(false);
  });
});

describe("an approval", () => {
  test("to assign an app to a link becomes invalid if the app changes", async () => {
    const { id } = await assistant.plant("link", { path: "a", url: springUrl });
    const app = await assistant.plant("ios_app", iosApp);
    const args = { id, ios_app: { id: app.id } };
    const { error } = await call("update_link", args);
    await assistant.press(error.approval.url, "approve");
    const body = { ios_app: { custom_scheme: "other" } };
    await assistant.world.call("PATCH", `/ios_apps/${app.id}`, { body });
    expect((await call("update_link", args)).error).toMatchObject({ code: "approval_required" });
  });

  test("to delete an app becomes invalid if another link starts to use the app", async () => {
    const app = await assistant.plant("ios_app", iosApp);
    const { error } = await call("delete_ios_app", { id: app.id });
    await assistant.press(error.approval.url, "approve");
    await assistant.plant("link", { path: "a", ios_app: { id: app.id } });
    const again = await call("delete_ios_app", { id: app.id });
    expect(again.error).toMatchObject({ code: "approval_required" });
  });

  test("to register an app is not requested if the key lacks the permission", async () => {
    const key = await assistant.world.addKey({ scopes: ["links.create", "ios_apps.index"] });
    const { callTool } = await assistant.connect({ key });
    for (const tool of ["create_link", "upsert_link"]) {
      const { error } = (await callTool(tool, { path: "a", ios_app: iosApp })).structured;
      expect(error).toMatchObject({ code: "scope_missing", effect: "none" });
      expect(error.message).toContain("ios_apps.create");
    }
    expect(assistant.writes).toEqual([]);
  });
});

describe("the registration of an app", () => {
  test("needs an approval that shows the app's association file entry", async () => {
    expect(await readPreview("register_ios_app", { ...iosApp, clip_bundle_id: "com.clip" })).toBe(
      [
        'Register the iOS app "com.example.app"',
        '- bundle ID: "com.example.app"',
        '- team ID: "ABCDE12345"',
        '- App Clip bundle ID: "com.clip"',
        "- apple-app-site-association: ",
        '+ "app ABCDE12345.com.example.app"',
        '+ "App Clip ABCDE12345.com.clip"',
      ].join("\n"),
    );
    expect(await readPreview("register_android_app", androidApp)).toContain(
      `- assetlinks.json: + "com.example.app ${print}"`,
    );
    expect(assistant.writes).toEqual([]);
    expect((await approve("register_ios_app", iosApp)).ios_app).toMatchObject(iosApp);
  });

  test.each([
    ["create_link", { path: "a", ios_app: iosApp }],
    ["upsert_link", { path: "a", android_app: androidApp }],
    ["update_link", { id: "b", android_app: androidApp }],
  ])("needs an approval even as part of %s", async (tool, args) => {
    await assistant.plant("link", { path: "b" });
    const preview = await readPreview(tool, args);
    expect(preview).toMatch(/Register the (iOS|Android) app "com\.example\.app", and /);
    expect(preview).toMatch(/\+ ".*com\.example\.app/);
    expect(assistant.writes).toEqual([]);
    expect((await approve(tool, args)).link).toBeDefined();
  });

  test("needs an approval again after the app was deleted", async () => {
    const app = await assistant.plant("ios_app", iosApp);
    const { store } = assistant.world;
    const { link } = await call("create_link", { path: "a", ios_app: iosApp });
    expect(link.ios_app_id).toBe(app.id);
    await store.write((db) => db.deleteFrom("ios_apps").execute());
    expect(await readPreview("create_link", { path: "b", ios_app: iosApp })).toContain("Register");
  });
});

const rename = (name: string) => call("update_link", { id: "spring", name });
const approveRename = () => approve("update_link", { id: "spring", name: "next" });

async function renameTimes(count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) {
    expect(await rename(`${done} of ${count}`)).toHaveProperty("link");
  }
}

describe("the limit for overwrites without an approval", () => {
  test("is 20 in ten minutes, and an approval allows 100 more", async () => {
    await assistant.plant("link", { path: "spring" });
    await renameTimes(20);
    const { error } = await rename("next");
    expect(error).toMatchObject({ code: "approval_required" });
    expect(error.approval.preview).toContain("up to 100 more overwrites within 10 minutes");
    await assistant.press(error.approval.url, "approve");
    expect(await rename("next")).toHaveProperty("link");
    // A rejected write is not counted.
    await call("update_link", { id: "spring", url: "not an address" });
    await renameTimes(100);
    expect((await rename("one too many")).error).toMatchObject({ code: "approval_required" });
  });

  test("applies again if the clock is set back after an approval", async () => {
    await assistant.plant("link", { path: "spring" });
    await renameTimes(20);
    expect(await approveRename()).toHaveProperty("link");
    assistant.setClock(-60 * 60_000);
    expect((await rename("later")).error).toMatchObject({ code: "approval_required" });
  });

  test("also applies to undos, and approving an undo raises it", async () => {
    await assistant.plant("link", { path: "spring", name: "first" });
    await renameTimes(20);
    const { error } = await call("undo", {});
    expect(error).toMatchObject({ code: "approval_required" });
    expect(error.approval.preview).toContain("also allows");
    await assistant.press(error.approval.url, "approve");
    expect(await call("undo", {})).toHaveProperty("change");
    await renameTimes(100);
    expect((await rename("one too many")).error).toMatchObject({ code: "approval_required" });
  });

  test("applies again ten minutes after an approval", async () => {
    await assistant.plant("link", { path: "spring" });
    await renameTimes(20);
    await approveRename();
    assistant.advance(tenMinutes_ms);
    await renameTimes(20);
    expect((await rename("again")).error).toMatchObject({ code: "approval_required" });
  });

  test("counts overwrites separately for each key, and does not count created links", async () => {
    await assistant.plant("link", { path: "spring" });
    for (let count = 0; count < 25; count += 1) {
      expect(await call("create_link", { path: `p${count}` })).toHaveProperty("link");
    }
    await renameTimes(20);
    expect((await rename("next")).error).toMatchObject({ code: "approval_required" });
    const other = await assistant.connect({ key: await assistant.world.addKey() });
    expect((await other.callTool("update_link", { id: "spring", name: "x" })).isError).toBe(false);
  });

  test("does not count rejected writes or writes without changes", async () => {
    await assistant.plant("link", { path: "spring", name: "same" });
    for (let count = 0; count < 25; count += 1) {
      expect((await rename("x".repeat(5000))).error).toMatchObject({ code: "validation_failed" });
      expect(await rename("same")).toHaveProperty("link");
    }
    await renameTimes(20);
    expect((await rename("x".repeat(5000))).error).toMatchObject({ code: "validation_failed" });
    const move = { id: "spring", path: "taken" };
    const refused = await call("update_link", move);
    expect(refused.error).toMatchObject({ code: "approval_required" });
    await assistant.press(refused.error.approval.url, "approve");
    // Another client uses the path between the approval and the write.
    assistant.interrupt("approved", async () => {
      await assistant.plant("link", { path: "taken" });
    });
    expect((await call("update_link", move)).error).toMatchObject({ code: "validation_failed" });
    // The approval of the rejected write must not allow more overwrites.
    expect((await rename("next")).error).toMatchObject({ code: "approval_required" });
  });

  test("has no effect on changes that always need an approval", async () => {
    const { id } = await assistant.plant("link", { path: "spring", url: springUrl });
    await renameTimes(20);
    await approveRename();
    const moved = await call("update_link", { id, url: "https://evil.example" });
    expect(moved.error).toMatchObject({ code: "approval_required" });
    expect((await call("delete_link", { id })).error).toMatchObject({ code: "approval_required" });
  });
});

test("explain_access lists the tools that need an approval", async () => {
  const { asks, tools } = readAccess((await call("explain_access", {})).access);
  const asking = new Set(Object.values(approvalRules).flatMap((rule) => rule.tools));
  for (const { tool, state } of tools) {
    expect(asks.includes(tool), tool).toBe(asking.has(tool) && state !== "denied");
  }
  await using free = await createAssistantWorld({ mode: "full", beside: assistant.world });
  expect((await free.call("explain_access")).access).not.toHaveProperty("asks");
});

const plan = async (rows: readonly object[]) => {
  const { plan: made } = await call("plan_links", { operation: "upsert", rows });
  return { plan_id: made.id };
};

describe("a plan that only creates links", () => {
  test("needs no approval", async () => {
    const args = await plan([{ path: "a" }, { path: "b", url: springUrl }]);
    expect((await call("apply_plan", args)).job.counts).toMatchObject({ done: 2 });
  });

  test("does not register an app that was deleted after planning", async () => {
    await assistant.plant("ios_app", iosApp);
    const args = await plan([{ path: "a", ios_app: iosApp }]);
    await assistant.world.store.write((db) => db.deleteFrom("ios_apps").execute());
    const { job } = await call("apply_plan", args);
    expect(job.failures).toMatchObject([{ outcome: "rejected" }]);
    expect((await call("list_ios_apps", {})).ios_apps).toEqual([]);
  });
});

const tenMinutes_ms = 10 * 60_000;

describe("changing a link's path", () => {
  test("needs an approval if the link has clicks", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    expect(await readPreview("update_link", { id, path: "summer" })).toBeUndefined();
    await assistant.world.store.write((db) => db.updateTable("links").set({ clicks: 1 }).execute());
    expect(await readPreview("update_link", { id, path: "autumn" })).toContain(
      '"summer" → "autumn"',
    );
    expect(await readPreview("update_link", { id, path: "/summer" })).toBeUndefined();
  });

  test("needs an approval if the link is older than ten minutes", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    assistant.advance(tenMinutes_ms);
    expect(await readPreview("update_link", { id, path: "summer" })).toBeUndefined();
    assistant.advance(1);
    expect(await readPreview("update_link", { id, path: "autumn" })).toContain(
      '"summer" → "autumn"',
    );
    expect(await readPreview("update_link", { id, name: "Spring" })).toBeUndefined();
  });

  test("back with undo needs an approval after ten minutes", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    await call("update_link", { id, path: "summer" });
    assistant.advance(tenMinutes_ms + 1);
    expect(await readPreview("undo", {})).toContain('"summer" → "spring"');
  });

  test("needs no approval if undo restores the old path within ten minutes", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    await call("update_link", { id, path: "summer" });
    expect(await readPreview("undo", {})).toBeUndefined();
    expect((await call("get_link", { id })).link.path).toBe("spring");
  });

  test("needs an approval if the key cannot read the link's age", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    const key = await assistant.world.addKey({ scopes: ["links.update", "links.show"] });
    const { callTool } = await assistant.connect({ key });
    const { error } = (await callTool("update_link", { id, path: "summer" })).structured;
    expect(error).toMatchObject({ code: "approval_required" });
  });
});

test("changing a remote link's path needs an approval because its age is unknown", async () => {
  await using strange = await createStrangeWorld(undefined, { mode: "guarded" });
  const { id } = await strange.plant("link", { path: "spring" });
  const { error } = await strange.call("update_link", { id, path: "summer" });
  expect(error).toMatchObject({ code: "approval_required" });
});

test("calls with an unknown outcome count toward the limit for overwrites", async () => {
  await using strange = await createStrangeWorld(undefined, { mode: "guarded" });
  const { id } = await strange.plant("link", { path: "spring" });
  let isLost = false;
  strange.proxy.setAlter(({ method, path }, reply) => {
    isLost ||= method === "PATCH" && path.includes(id);
    return isLost ? undefined : reply;
  });
  const rename = async (name: string) => {
    // A client that failed often stops repeating calls, so use a new client for each call.
    const update = async () => {
      isLost = false;
      const { callTool } = await strange.connect();
      return (await callTool("update_link", { id, name })).structured.error;
    };
    let error = await update();
    // A connection closed by the previous failure may fail before anything is sent, so try again.
    for (let more = 10; more > 0 && error.code === "unreachable"; more -= 1) error = await update();
    return error;
  };
  for (let done = 0; done < 20; done += 1) {
    expect(await rename(`${done}`)).toMatchObject({ code: "outcome_unknown" });
  }
  expect(await rename("next")).toMatchObject({ code: "approval_required" });
});
