import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { describe, expect, test } from "vitest";
import { createPreviews } from "../../../src/mcp/previews/preview-pages.ts";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openTab, saveShot, sizes } from "../../support/browser.ts";
import { openForAll, openForEach } from "../../support/open-for.ts";
import { openServer } from "../../support/ports.ts";

/** Tests in a real Chromium that the page at `preview_url` can be read and does nothing else. */

let assistant: AssistantWorld;
let origin: string;

const listen = getRequestListener((request) => assistant.fetchPage(request));
openForAll(
  () => openServer(createServer((request, response) => void listen(request, response))),
  ({ url }) => (origin = url),
);

openForEach(createAssistantWorld, (opened) => (assistant = opened));

async function preview(args: Record<string, unknown> = {}): Promise<string> {
  const { preview_url } = await assistant.call("preview_template", args);
  return new URL(preview_url).pathname;
}

/** Stores this HTML as a preview, as if a remote server had rendered it. Returns its path. */
async function keep(html: string): Promise<string> {
  return `/preview/${await createPreviews(assistant.state.kept).save("a key", html)}`;
}

test("a preview expires after ten minutes", async () => {
  const path = await preview();
  for (let visits = 0; visits < 3; visits += 1) {
    const response = await fetch(origin + path);
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringMatching(/^<!doctype html>/),
    ]);
  }
  assistant.advance(10 * 60_000);
  const late = await fetch(origin + path);
  expect([late.status, await late.text()]).toEqual([
    404,
    expect.stringContaining("This preview has expired"),
  ]);
  expect((await fetch(`${origin}/preview/`)).status).toBe(404);
});

test("a preview is sandboxed and never cached", async () => {
  const { headers } = await fetch(origin + (await preview()));
  expect(headers.get("content-security-policy")).toMatch(/^sandbox allow-scripts; default-src/);
  expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("set-cookie")).toBeNull();
});

test("a preview can be requested only with GET or HEAD, and only on its own host", async () => {
  const path = await preview();
  for (const method of ["POST", "PUT", "DELETE"]) {
    const refused = await fetch(origin + path, { method });
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  }
  const { status } = await assistant.visit(`http://evil.example${path}`);
  expect(status).toBe(403);
});

describe("a preview in a browser", () => {
  test.each(["light", "dark"] as const)(
    "shows the whole page with its styles in %s mode",
    async (colorScheme) => {
      for (const [size, viewport] of Object.entries(sizes)) {
        const tab = await openTab({ viewport, colorScheme });
        const faults: string[] = [];
        tab.on("console", (message) => faults.push(message.text()));
        // The sample picture does not exist. Any other request fails the test.
        const picture = {
          contentType: "image/svg+xml",
          body: '<svg xmlns="http://www.w3.org/2000/svg"/>',
        };
        await tab.route("https://www.example.com/spring.jpg", (route) => route.fulfill(picture));
        await tab.goto(
          origin + (await preview({ platform: size === "phone" ? "ios" : "desktop" })),
        );
        expect(await tab.locator("h1").textContent()).toContain("Spring sale");
        const style = "getComputedStyle(document.querySelector('.card')).textAlign";
        expect(await tab.evaluate(style)).toBe("center");
        await saveShot(tab, `preview ${size} ${colorScheme}`);
        expect(faults).toEqual([]);
      }
    },
  );

  test("does not open its links when they are clicked", async () => {
    const body =
      '<a id="plain" href="https://elsewhere.example/">a</a>' +
      '<a id="blank" href="https://elsewhere.example/" target="_blank">b</a>{% store_buttons %}';
    const tab = await openTab();
    const asked: string[] = [];
    const address = origin + (await preview({ body }));
    await tab.goto(address);
    tab.on("request", (request) => asked.push(request.url()));
    tab.context().on("page", (page) => asked.push(`opened ${page.url()}`));
    const links = tab.locator("a");
    expect(await links.count()).toBeGreaterThan(3);
    for (const link of await links.all()) await link.click();
    // Requests that a click causes come before the result of this script.
    expect(await tab.evaluate("document.title")).toContain("Spring sale");
    expect([tab.url(), asked]).toEqual([address, []]);
  });

  test("gives a hostile script no access to Waypost's data or the network", async () => {
    const html = `<!doctype html><title>page</title><form method="post" action="/approve/x">
<button>Go</button></form><iframe src="/approve/x"></iframe><script>
const told = [];
const tell = (name, work) => { try { told.push(name + " " + work()); } catch { told.push(name); } };
tell("origin", () => origin);
tell("cookie", () => document.cookie);
tell("storage", () => localStorage.length);
tell("window", () => open("/approve/x") === null);
fetch("/approve/x").then(() => told.push("fetched"), () => told.push("unfetched"))
  .then(() => { document.title = told.join(", "); });
document.querySelector("button").click();
</script>`;
    const tab = await openTab();
    const asked: string[] = [];
    tab.on("request", (request) => asked.push(`${request.method()} ${request.url()}`));
    const address = origin + (await keep(html));
    await tab.goto(address);
    await tab.waitForFunction("document.title.includes('fetched')");
    expect(await tab.title()).toBe("origin null, cookie, storage, window true, unfetched");
    expect([tab.url(), asked]).toEqual([address, [`GET ${address}`]]);
  });
});
