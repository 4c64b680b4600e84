import type { FrameLocator, Page } from "playwright-core";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openTab, saveShot } from "../../../support/browser.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Tests the view of `preview_template` (MCP Apps) inside a client's page, in a real Chromium. */

const body = "<h1>{{ link.name }} on {{ platform }}</h1>\n{% store_buttons %}\n";
const capabilities = {
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
};
const viewUri = "ui://waypost/page-template";
const viewData = z.object({
  pages: z.record(z.string(), z.string()),
  changes: z.array(z.object({ name: z.string(), text: z.string() })).optional(),
});

let assistant: AssistantWorld;
let faults: string[];

openForEach(
  () => createAssistantWorld({ capabilities }),
  (opened) => {
    [assistant, faults] = [opened, []];
  },
);

afterEach(() => expect(faults).toEqual([]));

describe("preview_template", () => {
  test("declares its view as a resource that clients can read", async () => {
    const { _meta: meta } = (await assistant.listTools()).find(isPreview) as ToolEntry;
    expect(meta).toEqual({ ui: { resourceUri: viewUri } });
    const { contents } = await assistant.readResource(viewUri);
    expect(contents).toEqual([
      { uri: viewUri, mimeType: "text/html;profile=mcp-app", text: expect.stringContaining("<") },
    ]);
  });

  test("returns a page for each device only to clients that support views", async () => {
    const { structured, meta } = await assistant.callTool("preview_template", { body });
    expect(Object.keys(structured)).toEqual(["preview_url"]);
    const { pages } = viewData.parse(meta?.["waypost/view"]);
    for (const device of ["ios", "android", "desktop"]) {
      expect(pages[device]).toMatch(new RegExp(`on ${device}</h1>`));
    }
    const plain = await assistant.connect({ capabilities: {} });
    const { meta: other } = await plain.callTool("preview_template", { body });
    expect(other).not.toHaveProperty(["waypost/view"]);
  });
});

test("in read-only mode, preview_template sends no write except to render a preview", async () => {
  await using reader = await createAssistantWorld({ mode: "read-only", capabilities });
  await reader.world.call("PATCH", "/page_template", { body: { body } });
  const { structured, meta } = await reader.callTool("preview_template", { html: true });
  expect(structured.html).toContain("<h1>");
  expect(new Set(reader.writes)).toEqual(new Set(["POST /api/v1/page_template/preview"]));
  const { changes } = viewData.parse(meta?.["waypost/view"]);
  expect(changes?.map(({ text }) => text)).toEqual(
    Array(2).fill(expect.stringContaining("which could not be read")),
  );
});

test("preview_template returns the page even if rendering its view is rate-limited", async () => {
  for (let turn = 0; turn < 59; turn += 1) {
    await assistant.world.call("POST", "/page_template/preview", { body: { body } });
  }
  const { structured, meta } = await assistant.callTool("preview_template", { body, html: true });
  expect(structured.html).toContain("<h1>");
  const { pages } = viewData.parse(meta?.["waypost/view"]);
  expect(Object.keys(pages)).toContain("ios");
});

describe("the view of preview_template", () => {
  test("shows the page on each device and the difference from the live page", async () => {
    const { view, tab } = await open();
    await send(tab, await preview(body));
    const page = view.frameLocator("#page");
    await page.locator("h1", { hasText: /on ios$/ }).waitFor();
    for (const [label, device] of [
      ["Android", "android"],
      ["Desktop", "desktop"],
      ["iOS", "ios"],
    ] as const) {
      await view.getByRole("button", { name: label }).click();
      await page.locator("h1", { hasText: new RegExp(`${device}$`) }).waitFor();
      expect(await view.locator("[aria-pressed=true]").textContent()).toBe(label);
    }
    expect(await view.locator("#changes").textContent()).toContain('+ "{% store_buttons %}"');
    expect(await view.locator("#problems").isVisible()).toBe(false);
  });

  test("first shows the page on the requested device", async () => {
    const { view, tab } = await open();
    await send(tab, await preview(body, { platform: "android" }));
    await view
      .frameLocator("#page")
      .locator("h1", { hasText: /on android$/ })
      .waitFor();
    expect(await view.locator("[aria-pressed=true]").textContent()).toBe("Android");
    await view.getByRole("button", { name: "iOS" }).click();
    await view
      .frameLocator("#page")
      .locator("h1", { hasText: /on ios$/ })
      .waitFor();
  });

  test.each(["light", "dark"] as const)(
    "draws a visible outline around the page in %s mode",
    async (colorScheme) => {
      const { view, tab } = await open();
      await tab.emulateMedia({ colorScheme });
      await send(tab, await preview(body));
      await view.frameLocator("#page").locator("h1").waitFor();
      await saveShot(tab, `view of a template ${colorScheme}`);
      const style = "getComputedStyle(document.querySelector('.device')).border";
      const edge = await view.locator("body").evaluate(style);
      const seen = { light: "rgb(135, 144, 159)", dark: "rgb(111, 121, 136)" };
      expect(edge).toBe(`1px solid ${seen[colorScheme]}`);
      // The client can report a theme that differs from the system's theme.
      for (const theme of ["dark", "light"] as const) {
        const changed = { method: "ui/notifications/host-context-changed", params: { theme } };
        const message = JSON.stringify({ jsonrpc: "2.0", ...changed });
        await tab.evaluate(`frames[0].postMessage(${message}, "*")`);
        await ping(tab);
        expect(await view.locator("body").evaluate(style)).toBe(`1px solid ${seen[theme]}`);
      }
    },
  );

  test("lists the problems of a broken template with their lines", async () => {
    const { view, tab } = await open();
    await send(tab, await preview("<h1>\n<script>alert(1)</script>"));
    const problems = view.locator("#problems tr");
    await problems.first().waitFor();
    expect((await problems.allTextContents()).join("\n")).toMatch(/body, line 2, column \d+/);
    expect(await view.locator("#page").isVisible()).toBe(false);
  });

  test("lists the problems of a successful preview together with the page", async () => {
    const { view, tab } = await open();
    const { structured, meta } = await assistant.callTool("preview_template", { body });
    const problems = [{ message: "The deployment warned." }];
    await send(tab, { structuredContent: { ...structured, problems }, _meta: meta });
    await view.frameLocator("#page").locator("h1").waitFor();
    expect(await view.locator("#problems td").allTextContents()).toEqual([
      "The deployment warned.",
    ]);
    expect(await view.locator("#state").isVisible()).toBe(false);
  });

  test("runs no scripts of a hostile page and contacts no other host", async () => {
    const { view, tab, requests } = await open();
    const html = `<script>parent.parent.document.title = "hacked"</script>
<img src="x" onerror="parent.postMessage('hacked', '*')"><h1>Shown</h1>`;
    const text = "<img src=x onerror=document.title='hacked'>";
    const pictured = tab.waitForEvent("requestfinished", (request) => request.url().endsWith("/x"));
    await send(tab, {
      structuredContent: { html },
      _meta: { "waypost/view": { pages: { ios: html }, changes: [{ name: text, text }] } },
    });
    const page = view.frameLocator("#page");
    await page.locator("h1", { hasText: /^Shown$/ }).waitFor();
    // If the picture had an effect, it would happen before the answer to this ping.
    await pictured;
    await ping(tab);
    expect(await tab.title()).toBe("host");
    expect(await view.locator("#changes").textContent()).toContain(text);
    // The broken picture was requested only from this test's host.
    expect(requests.filter((url) => !/^(about|data):|^http:\/\/host\.invalid\//.test(url))).toEqual(
      [],
    );
    // Ignore Chromium's messages about the blocked script and the broken picture.
    faults = faults.filter((fault) => !/sandboxed|ERR_|Failed to load/.test(fault));
  });

  test("accepts messages only from its client and answers pings", async () => {
    const { view, tab } = await open();
    const forged = write({ structuredContent: { html: "<h1>Mine</h1>" } });
    await view.locator("body").evaluate(`postMessage(${forged}, "*")`);
    // Messages are read in order, so the forged message was read before this ping.
    expect(await ping(tab)).toEqual({ jsonrpc: "2.0", id: 7, result: {} });
    expect(await view.locator("#shown").isVisible()).toBe(false);
    await send(tab, { structuredContent: { html: "<h1>Ours</h1>" } });
    await view.frameLocator("#page").locator("h1", { hasText: "Ours" }).waitFor();
  });
});

type ToolEntry = { readonly name: string; readonly _meta?: unknown };

function isPreview({ name }: ToolEntry): boolean {
  return name === "preview_template";
}

async function preview(text: string, more: object = {}): Promise<object> {
  const args = { body: text, ...more };
  const { structured, meta } = await assistant.callTool("preview_template", args);
  return { structuredContent: structured, _meta: meta };
}

async function open(): Promise<{
  readonly tab: Page;
  readonly view: FrameLocator;
  readonly requests: readonly string[];
}> {
  const { contents } = await assistant.readResource(viewUri);
  const [{ text = "" } = {}] = contents;
  const tab = await openTab();
  const requests: string[] = [];
  tab.on("console", (message) => faults.push(message.text()));
  tab.on("pageerror", (error) => faults.push(error.message));
  tab.on("request", (request) => requests.push(request.url()));
  await tab.route("**/*", (route) => route.fulfill({ body: host, contentType: "text/html" }));
  await tab.goto("http://host.invalid/");
  await tab.evaluate(`new Promise((resolve) => {
    addEventListener("message", ({ data, source }) => {
      const answer = { jsonrpc: "2.0", id: data.id, result: { hostContext: {} } };
      if (data.method === "ui/initialize") source.postMessage(answer, "*");
      if (data.method === "ui/notifications/initialized") resolve();
    });
    const frame = document.createElement("iframe");
    frame.id = "view";
    frame.setAttribute("sandbox", "allow-scripts");
    frame.srcdoc = ${JSON.stringify(text)};
    document.body.append(frame);
  })`);
  return { tab, view: tab.frameLocator("#view"), requests };
}

const host =
  "<!doctype html><title>host</title><style>iframe { width: 100%; height: 90vh }</style>";

function ping(tab: Page): Promise<unknown> {
  return tab.evaluate(`new Promise((resolve) => {
    addEventListener("message", ({ data }) => data.id === 7 && resolve(data));
    frames[0].postMessage({ jsonrpc: "2.0", id: 7, method: "ping" }, "*");
  })`);
}

async function send(tab: Page, result: object): Promise<void> {
  await tab.evaluate(`frames[0].postMessage(${write(result)}, "*")`);
}

function write(params: object): string {
  return JSON.stringify({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params });
}
