import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { sha256 } from "../contract/sample-link.ts";
import { launchBrowser } from "../support/browser.ts";
import { createFolder, startServe, type Serving } from "../support/command.ts";
import { openOnDevice, type Device } from "./open-on-device.ts";
import { approve, connectV2, type Connected } from "../support/mcp-clients.ts";

import agents from "./user-agents.json" with { type: "json" };

/** End to end: an assistant over MCP, a person who approves, and a visitor's browser. */

const devices = {
  ios: { userAgent: agents.ios["Safari on an iPhone"], isMobile: true, ...size(390, 844) },
  android: { userAgent: agents.android["Chrome on a phone"], isMobile: true, ...size(412, 915) },
  desktop: { userAgent: agents.desktop["Chrome on Windows"], isMobile: false, ...size(1280, 800) },
} as const satisfies Record<string, Device>;
type Platform = keyof typeof devices;

const first = "<h1>{{ link.name }}</h1>\n<p>The first page</p>\n{% store_buttons %}\n";
const second = "<h1>{{ link.name }}</h1>\n<p>The second page</p>\n{% store_buttons %}\n";

let browser: Browser;
let folder: Awaited<ReturnType<typeof createFolder>>;
let serving: Serving;
let client: Connected;
let asked: string[];

beforeAll(async () => {
  [browser, folder] = await Promise.all([launchBrowser(), createFolder()]);
  serving = await startServe(folder.path);
  const { places, key: token } = serving;
  client = await connectV2({ transport: "http", url: places.mcp, token, elicit });
});
beforeEach(() => {
  asked = [];
});
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await browser.close();
  await serving[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

function elicit(message: string) {
  asked.push(message);
  return approve();
}

test("visitors of a link created over MCP see what explain_link reported", async () => {
  const ios_app = { bundle_id: "com.example.shop", team_id: "ABCDE12345", app_store_id: "12345" };
  const android_app = { package_name: "com.example.shop", fingerprints: [sha256] };
  await call("register_ios_app", ios_app);
  await call("register_android_app", android_app);
  const { link } = await call("create_link", {
    path: "spring",
    social_title: "Spring sale",
    url: linkAddress("/.well-known/assetlinks.json"),
    ios_app: { bundle_id: ios_app.bundle_id },
    android_app: { package_name: android_app.package_name },
  });
  expect(link.address).toBe(linkAddress("/spring"));
  const { visits } = await call("explain_link", { id: "spring" });

  const desktop = await visit("desktop");
  expect(desktop.url).toBe(visits.desktop.to);
  for (const platform of ["ios", "android"] as const) {
    const { text, ways } = await visit(platform);
    expect(visits[platform].without_app.action).toBe("preview_page");
    expect(text).toContain("Spring sale");
    expect(ways).toContain(visits[platform].without_app.to);
  }
});

test("a page template is saved, published, unpublished and restored over MCP", async () => {
  const broken = await client.callTool("save_template", { body: "<script>\n{% if %}" });
  expect(broken.structured.error.problems).toContainEqual(
    expect.objectContaining({ field: "body", line: 2 }),
  );

  await call("save_template", { body: first });
  const preview = await call("preview_template", { link_id: await findLink(), html: true });
  expect(preview.html).toContain("first");
  expect((await visit("ios")).text).not.toContain("The first page");
  await call("publish_template");
  expect(asked.at(-1)).toContain('+ "<p>The first page</p>"');
  expect((await visit("ios")).text).toContain("The first page");

  await call("publish_template", { body: second });
  expect((await visit("android")).text).toContain("The second page");

  await call("unpublish_template");
  expect((await visit("ios")).text).not.toContain("page");
  const { versions } = await call("list_template_versions");
  const restored = await call("restore_template_version", { id: versions[1].id });
  expect(restored.page_template).not.toHaveProperty("live_version");
  expect((await call("get_template_version", { id: "draft" })).version.body).toBe(first);
  expect((await visit("ios")).text).not.toContain("The first page");
  expect(asked).toHaveLength(4);
});

test("deleting an app over MCP removes the app from its association file at once", async () => {
  const files = {
    delete_ios_app: "/.well-known/apple-app-site-association",
    delete_android_app: "/.well-known/assetlinks.json",
  };
  for (const [tool, file] of Object.entries(files)) {
    expect(await read(file)).toContain("com.example.shop");
    await call(tool, { id: "com.example.shop" });
    expect(await read(file)).not.toContain("com.example.shop");
  }
});

function size(width: number, height: number) {
  return { viewport: { width, height } } as const;
}

async function call(tool: string, args: Record<string, unknown> = {}) {
  const { isError, structured } = await client.callTool(tool, args);
  expect([tool, isError, structured.error]).toEqual([tool, false, undefined]);
  return structured;
}

async function findLink(): Promise<string> {
  return (await call("get_link", { id: "spring" })).link.id;
}

function linkAddress(path: string): string {
  return `http://default.localhost:${new URL(serving.places.url).port}${path}`;
}

async function visit(platform: Platform) {
  const { page, faults } = await openOnDevice(browser, devices[platform], linkAddress("/spring"));
  expect(faults).toEqual([]);
  const text = (await page.textContent("body")) ?? "";
  const all = page.locator("a");
  const ways = await all.evaluateAll((found) => found.map((way) => String(way)));
  const url = page.url();
  await page.context().close();
  return { text, ways, url };
}

async function read(path: string): Promise<string> {
  const context = await browser.newContext();
  try {
    return await (await context.newPage()).goto(linkAddress(path)).then(async (reply) => {
      return (await reply?.text()) ?? "";
    });
  } finally {
    await context.close();
  }
}
