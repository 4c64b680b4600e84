import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { startAlteringProxy } from "../support/remote.ts";
import { signInAt } from "../support/console.ts";
import { openConsole } from "../support/browser.ts";
import { createServed, startServe, type Serving } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** The console frames pages of a remote server, which here try to break out of their frame. */

let target: Serving;
let gateway: Serving;

openForAll(createServed, async ({ folder, serving }, keep) => {
  target = serving;
  const { origin } = new URL(target.places.api);
  const proxy = await startAlteringProxy(origin, (request, reply) => {
    const isPreview = request.path.endsWith("/page_template/preview");
    const headers = { "content-type": "text/html; charset=utf-8" };
    return isPreview ? { status: 200, headers, body: hostile } : reply;
  });
  const env = { WAYPOST_API_KEY: target.key };
  const words = ["--base-url", keep(proxy).url];
  gateway = keep(await startServe(`${folder.path}-gateway`, words, { env }));
  const links = await target.call("POST", "/links", { body: { path: "spring", name: "Spring" } });
  expect(links.status).toBe(201);
  const body = "<h1>Live</h1>{% store_buttons %}";
  await target.call("POST", "/page_template/publish", { body: { body } });
});

const evil = "https://evil.example";
const hostile = `<!doctype html><html><head>
<meta http-equiv="refresh" content="0;url=${evil}/refreshed">
<base href="${evil}/" target="_top">
<script>top.location = "${evil}/busted"; parent.document.title = "hacked";</script>
<style>html, body, #cover { position: fixed; inset: 0; z-index: 2147483647; margin: 0;
width: 100vw; height: 100vh; background: red } </style></head>
<body onload="top.location='${evil}/loaded'"><div id="cover">
<h1>Hostile</h1>
<a id="top" href="${evil}/top" target="_top">top</a> <a id="parent" href="/" target="_parent">p</a>
<a id="self" href="${evil}/self" target="_self">self</a> <a id="plain" href="${evil}/a">plain</a>
<a id="script" href="javascript:top.location='${evil}/js'">js</a>
<form action="/sign-out" method="post" target="_top"><button id="send">Send</button></form>
<iframe src="/template"></iframe><iframe srcdoc="<script>top.location='${evil}'</script>"></iframe>
<object data="/"></object><embed src="/"><img src="x" onerror="top.location='${evil}/img'">
</div></body></html>`;

test.each(["the template's page", "a link's page"])(
  "a link in the preview frame of %s cannot navigate the console",
  async (name) => {
    const { page, complaints } = await openConsole(gateway);
    const asked: string[] = [];
    await page.goto(gateway.places.url + (await findPath(name)));
    const frame = page.frameLocator("iframe[title='Preview page, iPhone, light']");
    await frame.getByRole("heading", { name: "Hostile" }).waitFor();
    const { url, title } = { url: page.url(), title: await page.title() };
    page.context().on("page", (opened) => asked.push(`opened ${opened.url()}`));
    page.on("framenavigated", (gone) => {
      if (!gone.url().startsWith("chrome-error:")) asked.push(`navigated to ${gone.url()}`);
    });
    for (const id of ["top", "parent", "plain", "script", "send"]) {
      await frame.locator(`#${id}`).click({ force: true });
    }
    // The frame may only navigate itself, and even that shows nothing.
    await frame.locator("#self").click({ force: true });
    // A request that a click started arrives before the response to this one.
    await page.evaluate("fetch('/', { headers: { accept: 'text/html' } })");
    expect([page.url(), await page.title(), asked]).toEqual([url, title, []]);
    await expectUncovered(page);
    const escaped = complaints.filter((text) => text.startsWith("asked") && !isPicture(text));
    expect(escaped).toEqual([]);
  },
);

async function findPath(name: string): Promise<string> {
  if (name === "the template's page") return "/template";
  const { body } = await target.call("GET", "/links");
  return `/links/${body.links[0].id}`;
}

/** Pictures are the only requests a framed page may make. */
function isPicture(complaint: string): boolean {
  return complaint === `asked ${evil}/x`;
}

async function expectUncovered(page: Page): Promise<void> {
  const covered = await page.evaluate<readonly string[]>(`
    [...document.querySelectorAll("main button:not(.hidden), main a")].filter((each) => {
      each.scrollIntoView({ block: "center" });
      const { x, y, width, height } = each.getBoundingClientRect();
      if (width === 0) return false;
      const top = document.elementFromPoint(x + width / 2, y + height / 2);
      return !each.contains(top);
    }).map((each) => each.textContent)`);
  expect(covered).toEqual([]);
}

test("a framed preview runs no scripts, and only the console can frame it", async () => {
  const tab = await signInAt(gateway);
  const { body } = await target.call("GET", "/links");
  const path = `/links/${body.links[0].id}/page?platform=ios`;
  const { headers: remote } = await tab.open(path);
  const framed = String(remote["content-security-policy"]);
  expect(framed).toMatch(/^sandbox; default-src 'none'; style-src/);
  expect(framed).not.toContain("script-src");
  // A page from a remote server loads its files. A local one contains its styles.
  expect(framed).toContain("font-src data: https: http:");
  const { headers } = await (await signInAt(target)).open(path);
  expect(headers["content-security-policy"]).toBe(
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data: https:; " +
      "form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
  );
  expect(framed).toContain("frame-ancestors 'self'");
  expect(remote["x-frame-options"]).toBe("SAMEORIGIN");
});
