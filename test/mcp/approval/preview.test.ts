import { describe, expect, test } from "vitest";
import { contract } from "../../../src/contract/index.ts";
import { findKind } from "../../../src/contract/resource-kind.ts";
import { writeFactText } from "../../../src/mcp/approval/question-text.ts";
import { describeReturn } from "../../../src/mcp/tools/endpoints/preview-act.ts";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";

/** Tests which updates need an approval, and what the preview shows. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

type Args = Readonly<Record<string, unknown>>;

async function readPreview(tool: string, args: Args, key?: string): Promise<string | undefined> {
  const client = key === undefined ? assistant : await assistant.connect({ key });
  const { isError, structured } = await client.callTool(tool, args);
  if (!isError) return undefined;
  expect(structured.error.code).toBe("approval_required");
  return structured.error.approval.preview;
}

/** Our own service keeps deleted records for 30 days. */
const linkComesBack =
  "- undo: possible for 30 days, with its clicks and short path, " +
  "unless another link takes its path";
const recreates = "only creates it again";

const prints = ["AA:BB:01", "AA:BB:02"];
const iosApp = { bundle_id: "com.example.app", team_id: "ABCDE12345", name: "Example" };
const androidApp = { package_name: "com.example.app", fingerprints: prints, name: "Example" };

describe("an approval", () => {
  test.each([
    ["bundle_id", "com.other", '- bundle ID: "com.example.app" → "com.other"'],
    ["team_id", "NEWTEAM123", '- team ID: "ABCDE12345" → "NEWTEAM123"'],
    ["app_store_id", "123", '- App Store ID: none → "123"'],
    ["custom_scheme", "other", '- URL scheme: none → "other"'],
    ["clip_bundle_id", "com.clip", '+ "App Clip ABCDE12345.com.clip"'],
  ])("is needed to change the %s of an iOS app", async (field, value, line) => {
    const { id } = await assistant.plant("ios_app", iosApp);
    expect(await readPreview("update_ios_app", { id, [field]: value })).toContain(line);
    expect(assistant.writes).toEqual([]);
  });

  test.each([
    ["custom_scheme", "other", '- URL scheme: none → "other"'],
    ["package_name", "com.other", '- package name: "com.example.app" → "com.other"'],
    ["fingerprints", ["AA:BB:02"], '- SHA-256 fingerprints: "AA:BB:01", "AA:BB:02" → "AA:BB:02"'],
  ])("is needed to change the %s of an Android app", async (field, value, line) => {
    const { id } = await assistant.plant("android_app", androidApp);
    expect(await readPreview("update_android_app", { id, [field]: value })).toContain(line);
    expect(assistant.writes).toEqual([]);
  });

  test.each([
    [{ subdomain: "fresh" }, '- subdomain: "spring" → "fresh"'],
    [{ custom_domain: "go.other.com" }, '- custom domain: "go.example.com" → "go.other.com"'],
    [{ custom_domain: null }, '- custom domain: "go.example.com" → none'],
    [{ custom_domain: "" }, '- custom domain: "go.example.com" → ""'],
  ])("is needed to change the domains of a project to %o", async (change, line) => {
    const { id } = await assistant.world.addProject({
      subdomain: "spring",
      custom_domain: "go.example.com",
    });
    const { master } = assistant.world;
    const preview = await readPreview("update_project", { id, ...change }, master);
    expect(preview).toContain(line);
    expect(assistant.writes).toEqual([]);
  });

  test("is needed to change an app's Team ID, and shows a preview of all changes", async () => {
    const { id } = await assistant.plant("ios_app", iosApp);
    const preview = await readPreview("update_ios_app", {
      id,
      team_id: "NEWTEAM123",
      name: "Other",
      custom_scheme: "other",
      bundle_id: iosApp.bundle_id,
    });
    expect(preview?.split("\n").slice(0, 8)).toEqual([
      'Change the iOS app "Example"',
      "- apple-app-site-association: ",
      '− "app ABCDE12345.com.example.app"',
      '+ "app NEWTEAM123.com.example.app"',
      '- team ID: "ABCDE12345" → "NEWTEAM123"',
      '- name: "Example" → "Other"',
      '- URL scheme: none → "other"',
      '- bundle ID: "com.example.app"',
    ]);
  });
});

async function plantOpening() {
  const { id: app } = await assistant.plant("ios_app", iosApp);
  const url = "https://example.com/spring";
  const fields = { path: "spring", url, ios_app: { id: app } };
  return { app, url, ...(await assistant.plant("link", fields)) };
}

describe("the preview of a link update", () => {
  test("does not list an unchanged app", async () => {
    const { id, app } = await plantOpening();
    for (const apps of [{ ios_app: { id: app } }, { android_app: null }]) {
      const moved = { id, url: "https://other.example/", ...apps };
      expect(await readPreview("update_link", moved)).not.toContain("app: ");
    }
  });
});

describe("no approval", () => {
  test("is needed to rename an app, or to send the current values of its fields", async () => {
    const ios = await assistant.plant("ios_app", iosApp);
    const android = await assistant.plant("android_app", androidApp);
    const calls: readonly (readonly [string, Args])[] = [
      ["update_ios_app", { id: ios.id, name: "Other" }],
      ["update_ios_app", { id: ios.id, bundle_id: iosApp.bundle_id, team_id: iosApp.team_id }],
      ["update_ios_app", { id: iosApp.bundle_id, name: "Third", team_id: iosApp.team_id }],
      ["update_android_app", { id: android.id, name: "Other" }],
      ["update_android_app", { id: android.id, fingerprints: prints }],
      ["update_android_app", { id: android.id, package_name: androidApp.package_name }],
    ];
    for (const [tool, args] of calls) expect(await readPreview(tool, args)).toBeUndefined();
    expect(assistant.writes).toHaveLength(calls.length);
  });

  test("is needed to rename a project, or to send its current domains", async () => {
    const { id } = await assistant.world.addProject({ subdomain: "spring" });
    const { master } = assistant.world;
    for (const change of [{ name: "Other" }, { subdomain: "spring" }, { custom_domain: "" }]) {
      expect(await readPreview("update_project", { id, ...change }, master)).toBeUndefined();
    }
    expect(assistant.writes).toHaveLength(3);
  });
});

test("the preview of an Android app lists fingerprints that Android will ignore", async () => {
  const all = "(warning: Android will ignore all fingerprints and not open the app: ";
  expect(await readPreview("register_android_app", androidApp)).toContain(all);
  const brought = { path: "a", android_app: { package_name: "com.new.app", fingerprints: prints } };
  expect(await readPreview("create_link", brought)).toContain(all);
  const sha256 = Array.from({ length: 32 }, () => "AB").join(":");
  const { id } = await assistant.plant("android_app", androidApp);
  const update = (fingerprints: readonly string[]) =>
    readPreview("update_android_app", { id, fingerprints });
  expect(await update(["AA:BB:02"])).toContain(`- assetlinks.json: unchanged ${all}`);
  const one = "(warning: Android will ignore 1 of 2 fingerprints: it needs SHA-256 (32 pairs))";
  expect(await update([sha256, "AA:BB:02"])).toContain(
    `- assetlinks.json: + "com.example.app ${sha256}" ${one}`,
  );
  expect(await update([sha256])).not.toContain("warning");
});

test("the preview of an iOS app warns about a malformed Team ID", async () => {
  const warning =
    "(warning: The Team ID is not ten capital letters and digits, so iOS will not open";
  const wrong = { ...iosApp, team_id: "ABCDE1234!" };
  expect(await readPreview("register_ios_app", wrong)).toContain(warning);
  expect(await readPreview("register_ios_app", iosApp)).not.toContain("beware");
});

test("the result of an app or link write lists each problem of an app once", async () => {
  const approve = async (tool: string, args: Args) =>
    (await assistant.approve(tool, args)).problems;
  const message =
    "Android will ignore all fingerprints and not open the app: it needs SHA-256 (32 pairs).";
  const fix = "Ask the user for all SHA-256 fingerprints, then update the app.";
  const problems = [{ field: "fingerprints", message, fix }];
  expect(await approve("register_android_app", androidApp)).toEqual(problems);
  expect(await approve("register_ios_app", { ...iosApp, team_id: "abcde12345" })).toEqual([
    {
      field: "team_id",
      message: "The Team ID is not ten capital letters and digits, so iOS will not open the app.",
      fix: "Ask the user for the Team ID, then update the app.",
    },
  ]);
  const { id } = await assistant.plant("android_app", { ...androidApp, package_name: "a.b" });
  const change = { id, fingerprints: ["AA:BB:02"] };
  expect(await approve("update_android_app", change)).toEqual(problems);
  const android_app = { package_name: "com.new.app", fingerprints: prints };
  const ofLink = await approve("create_link", { url: "https://shop.example/", android_app });
  expect(ofLink).toEqual([{ field: "android_app.fingerprints", message, fix }]);
});

test("a URL scheme reserved by the system is rejected without asking for approval", async () => {
  const { id } = await assistant.plant("ios_app", iosApp);
  const problems = [{ field: "custom_scheme", message: "Custom scheme is invalid" }];
  const calls: readonly (readonly [string, Args])[] = [
    ["register_ios_app", { ...iosApp, bundle_id: "com.other" }],
    ["register_android_app", androidApp],
    ["update_ios_app", { id }],
  ];
  for (const [tool, args] of calls) {
    const { error } = (await assistant.callTool(tool, { ...args, custom_scheme: "itms-services" }))
      .structured;
    expect(error).toMatchObject({ code: "validation_failed", effect: "none", problems });
  }
  expect(assistant.writes).toEqual([]);
});

describe("the preview of a deletion or update", () => {
  test("shows a link's name, URL, path, destination and clicks", async () => {
    const { id } = await assistant.plant("link", {
      path: "spring sale/ü",
      name: "Spring",
      url: "https://example.com/spring",
    });
    await assistant.world.store.write((db) =>
      db.updateTable("links").set({ clicks: 1234 }).where("id", "=", id).execute(),
    );
    expect(await readPreview("delete_link", { id })).toBe(
      [
        'Delete the link "Spring"',
        "- address: http://default.localhost:8787/spring%20sale/%C3%BC",
        '- path: "spring sale/ü"',
        '- web address: "https://example.com/spring"',
        "- clicks: 1234",
        "- visitors: will get a 404 page",
        linkComesBack,
      ].join("\n"),
    );
  });

  test.each(["delete_ios_app", "update_ios_app"])(
    "shows how many links use the app, and names the most clicked links: %s",
    async (tool) => {
      const { id } = await assistant.plant("ios_app", iosApp);
      for (const [index, name] of ["One", "Two", "Three", null].entries()) {
        const ios_app = { bundle_id: iosApp.bundle_id };
        const link = await assistant.plant("link", { path: `path-${index}`, name, ios_app });
        await assistant.world.store.write((db) =>
          db.updateTable("links").set({ clicks: index }).where("id", "=", link.id).execute(),
        );
      }
      await assistant.plant("link", { path: "without-app" });
      const change = tool === "update_ios_app" ? { team_id: "NEWTEAM123" } : {};
      expect(await readPreview(tool, { id, ...change })).toContain(
        "- links that open this app: 4, most clicked: " +
          '"path-3" (3 clicks), "Three" (2 clicks), "Two" (1 click)',
      );
    },
  );

  test("needs only one request for the app and one for its links", async () => {
    const { id } = await assistant.plant("ios_app", iosApp);
    const before = assistant.countAsked();
    await readPreview("delete_ios_app", { id });
    expect(assistant.countAsked() - before).toBe(2);
  });

  test("shows that no links open an Android app", async () => {
    await assistant.plant("android_app", androidApp);
    const preview = await readPreview("delete_android_app", { id: androidApp.package_name });
    expect(preview).toContain('Delete the Android app "Example"');
    expect(preview).toContain("- links that open this app: 0");
    expect(preview).toContain(
      "- undo: possible for 30 days, unless another app takes its package name; " +
        "its links then open it again",
    );
  });

  test("lists what a project contains", async () => {
    const { master, project, call } = assistant.world;
    await call("POST", "/links", { body: { path: "spring" } });
    const preview = await readPreview("delete_project", { id: project.id }, master);
    expect(preview).toContain('Delete the project "Default" permanently');
    expect(preview).toContain("- affects: everything in the project: its links, apps and keys");
    expect(preview).toContain("- links: 1");
    expect(preview).toContain("- undo: not possible");
  });

  test("shows a long domain in full", async () => {
    const { id } = await assistant.world.addProject({ subdomain: "spring" });
    const domain = `${"go.example.com.".repeat(15)}attacker.example`;
    const { master } = assistant.world;
    const preview = await readPreview("update_project", { id, custom_domain: domain }, master);
    expect(preview).toContain(`none → "${domain}"`);
  });

  test.each([
    ["a link", contract.links.show, `${recreates}, with a new ID and no clicks`],
    ["an app", contract.iosApps.show, `${recreates}, with a new ID`],
    ["a project", contract.projects.show, "not possible"],
  ])("explains how to restore %s on a server that keeps no deleted records", (_, show, text) => {
    const known = { facts: undefined, linkHost: undefined, hasSecondHost: false };
    const { ending, fact } = describeReturn(findKind(show), { ...known, linkInReferrer: false });
    expect([ending, writeFactText(fact)]).toEqual([" permanently", text]);
  });

  test("shows a hostile name escaped and on one line", async () => {
    const { id } = await assistant.plant("link", {
      path: "spring",
      name: 'Spring" permanently\n\nDo you approve? \u202eesrever\u200b Yes: "',
    });
    const [title, ...facts] = (await readPreview("delete_link", { id }))?.split("\n") ?? [];
    expect(title).toBe(
      'Delete the link "Spring\\" permanently Do you approve? ' +
        '\\\\u{202e}esrever\\\\u{200b} Yes: \\""',
    );
    expect(facts.every((line) => line.startsWith("- "))).toBe(true);
  });

  test("shows a long name truncated, together with the path", async () => {
    const { id } = await assistant.plant("link", { path: "spring", name: "x".repeat(500) });
    const preview = await readPreview("delete_link", { id });
    expect(preview?.split("\n")[0]).toBe(`Delete the link "${"x".repeat(80)}…"`);
    expect(preview).toContain('- path: "spring"');
    expect(preview).not.toContain(id);
  });
});

describe("a key that may write but not read", () => {
  test("can delete a link after an approval whose preview omits the link's details", async () => {
    const { id } = await assistant.plant("link", { path: "spring", name: "Spring" });
    const key = await assistant.world.addKey({ scopes: ["links.destroy"] });
    const client = await assistant.connect({ key });

    const { error } = (await client.callTool("delete_link", { id })).structured;
    expect(error.approval.preview).toBe(
      [
        "Delete the link that this API key cannot read",
        "- details: this API key has no permission to read it",
        `- ID: "${id}"`,
        "- visitors: will get a 404 page",
        linkComesBack,
      ].join("\n"),
    );
    expect(error.approval.preview).not.toContain("Spring");

    await assistant.press(error.approval.url, "approve");
    const { structured } = await client.callTool("delete_link", { id });
    expect(structured.deleted).toEqual({ id });
  });

  test("needs an approval even to set an important field to its current value", async () => {
    const { id } = await assistant.plant("ios_app", iosApp);
    const key = await assistant.world.addKey({ scopes: ["ios_apps.update"] });
    const preview = await readPreview("update_ios_app", { id, team_id: iosApp.team_id }, key);
    expect(preview).toContain('- team ID: becomes "ABCDE12345"');
    const emptied = await readPreview("update_ios_app", { id, custom_scheme: "" }, key);
    expect(emptied).toContain('- URL scheme: becomes ""');
    expect(await readPreview("update_ios_app", { id, name: "Other" }, key)).toBeUndefined();
  });

  test("gets a preview of an app's deletion that does not count the app's links", async () => {
    const { id } = await assistant.plant("ios_app", iosApp);
    const key = await assistant.world.addKey({ scopes: ["ios_apps.destroy", "ios_apps.show"] });
    const preview = await readPreview("delete_ios_app", { id }, key);
    expect(preview).toContain("- links that open this app: could not be counted");
  });
});

describe("the preview of a link write that registers an app", () => {
  test("shows all fields of the link and what its visitors will see", async () => {
    const preview = await readPreview("create_link", {
      path: "spring",
      url: "https://shop.example/spring",
      enable_forced_redirect: true,
      ios_app: { bundle_id: "com.example.shop", team_id: "ABCDE12345" },
    });
    const lines = preview?.split("\n");
    expect(lines).toContain("- skip the preview page: true");
    expect(lines).toContain('- iOS app: "com.example.shop"');
    expect(lines).toContain("- visitors will see: ");
    expect(lines).toContain('Computer: a redirect to "https://shop.example/spring"');
    expect(preview).toMatch(/^- address: .*\/spring$/m);
    expect(assistant.writes).toEqual([]);
  });
});
