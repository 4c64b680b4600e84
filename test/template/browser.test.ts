import chromium from "@sparticuz/chromium";
import { createServer, type RequestListener } from "node:http";
import { chromium as launcher, type Browser, type Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  renderLinkPage,
  type CompiledTemplate,
  type LinkPage,
  type PageInput,
} from "../../src/template/link-page.ts";
import { parseLiquid } from "../../src/template/liquid.ts";
import { sampleApps, sampleLink } from "../../src/template/sample-links.ts";
import { hostileBodies } from "./hostile-bodies.ts";
import { hostileCss } from "./hostile-css.ts";
import { hostileFields } from "./hostile-fields.ts";
import { hostileLiquid } from "./hostile-liquid.ts";
import { openServer } from "../support/ports.ts";
import { openForAll } from "../support/open-for.ts";

/** Hostile templates in a real browser, without checks and headers that would block them. */

let browser: Browser;
let origin = "";
type ShownPage = Pick<LinkPage, "html" | "headers">;

const pages = new Map<string, ShownPage>();
const strayed: string[] = [];

const answer: RequestListener = (request, response) => {
  const isOurs = request.headers.host?.startsWith("links.example.com") === true;
  const page = isOurs ? pages.get(request.url ?? "") : undefined;
  if (page !== undefined) {
    response.writeHead(200, page.headers).end(page.html);
  } else {
    strayed.push(`${request.headers.host}${request.url}`);
    response.writeHead(404).end();
  }
};

openForAll(
  () => openServer(createServer(answer)),
  async ({ port }, keep) => {
    origin = `http://links.example.com:${port}`;
    const launched = await launcher.launch({
      executablePath: await chromium.executablePath(),
      args: ["--no-sandbox", "--disable-gpu", `--host-resolver-rules=MAP *:* 127.0.0.1:${port}`],
    });
    browser = keep(launched);
  },
);

const nonce = "the-nonce";

const sample: PageInput = {
  link: sampleLink,
  apps: sampleApps,
  project: { name: "Example Shop" },
  platform: "ios",
  buttons: [
    { kind: "open", app: "Example Shop", href: "exampleshop://spring" },
    { kind: "app_store", app: null, href: "https://apps.apple.com/app/id1" },
  ],
  template: undefined,
  language: "en",
  nonce,
  time: undefined,
};

async function show(page: Page, path: string, given: ShownPage): Promise<string[]> {
  const done: string[] = [];
  page.removeAllListeners("dialog");
  page.on("dialog", (dialog) => {
    done.push(`said ${dialog.message()}`);
    void dialog.dismiss();
  });
  pages.set(path, given);
  await page.goto(origin + path, { waitUntil: "load" });
  for (const frame of page.frames()) {
    // Scripts in the page have run before this is answered.
    await frame.evaluate(disturb).catch(() => done.push("went away"));
  }
  if (page.url() !== origin + path) done.push(`went to ${page.url()}`);
  return done;
}

/** Events that a visitor causes on each element without pressing anything. */
const disturb = `for (const element of document.querySelectorAll("*")) {
  for (const type of ["mouseover", "mousemove", "focus"]) element.dispatchEvent(new Event(type));
}`;

async function showTogether(given: readonly ShownPage[]): Promise<readonly string[]> {
  strayed.length = 0;
  const paths = given.map((_, index) => `/page/${index}`);
  for (const [index, shown] of given.entries()) pages.set(`/page/${index}`, shown);
  const html = paths.map((path) => `<iframe src="${path}"></iframe>`).join("");
  const page = await browser.newPage();
  const done = await show(page, "/frames", strip({ html }));
  const [, ...frames] = page.frames().map((frame) => frame.url());
  const went = frames.filter((url, index) => url !== `${origin}${paths[index]}`);
  await page.close();
  return [...done, ...went.map((url) => `went to ${url}`), ...strayed.map((url) => `got ${url}`)];
}

const sideBySide = 20;

async function showAll(
  given: readonly (readonly [name: string, page: ShownPage])[],
): Promise<void> {
  expect(given.length).toBeGreaterThan(40);
  for (let start = 0; start < given.length; start += sideBySide) {
    const some = given.slice(start, start + sideBySide);
    const done = await showTogether(some.map(([, page]) => page));
    expect(done, some.map(([name]) => name).join("\n")).toEqual([]);
  }
}

/** Removes the policy that would block what the cleaning let through. */
function strip({ html }: Pick<LinkPage, "html">): ShownPage {
  return { html, headers: { "content-type": "text/html; charset=utf-8" } };
}

/** Keeps all headers except the rule that keeps a page out of frames. */
function letIntoFrame({ html, headers }: LinkPage): ShownPage {
  const { "content-security-policy": policy = "", ...others } = headers;
  const loosened = policy.replace("; frame-ancestors 'none'", "");
  return { html, headers: { ...others, "content-security-policy": loosened } };
}

describe("the browser in this test", () => {
  test("detects scripts, event handlers, redirects and requests", async () => {
    const pages = [
      "<script>alert(1)</script>",
      "<p onmouseover=alert(2)>x</p>",
      "<input onfocus=alert(3)>",
      "<img src=http://evil.example/a.png>",
      '<meta http-equiv=refresh content="0;url=http://evil.example/b">',
    ];
    const done = await showTogether(pages.map((html) => strip({ html })));
    expect(done).toEqual([
      "said 1",
      "said 2",
      "said 3",
      "went to http://evil.example/b",
      "got evil.example/a.png",
      "got evil.example/b",
    ]);
  });

  test("runs no script and sends no request for an unchecked hostile body", async () => {
    const shown = [...hostileBodies, ...hostileLiquid].flatMap((body) => {
      const template = compileAnyway(plain(body), "");
      if (template === undefined) return [];
      return [[body, strip(renderLinkPage({ ...sample, template }))] as const];
    });
    await showAll(shown);
  });

  test("obeys the page's headers and sends no request for unchecked hostile CSS", async () => {
    const shown = hostileCss.map((css) => {
      const template = compileAnyway("<p class=a>x</p>{% store_buttons %}", plain(css));
      return [css, letIntoFrame(renderLinkPage({ ...sample, template }))] as const;
    });
    await showAll(shown);
  });

  test("runs no script and sends no request for hostile fields, even without headers", async () => {
    const template = compileAnyway(
      `{% store_buttons %}<p title="{{ link.name }}">{{ link.name }}</p>
      <a href="{{ link.url }}">{{ link.social_description }}</a>`,
      "",
    );
    const shown = hostileFields.flatMap((text) => {
      const link = { ...sampleLink, social_title: text, url: text };
      const named = { ...sample, link, project: { name: text } };
      return [named, { ...named, template }].map(
        (input) => [text, strip(renderLinkPage(input))] as const,
      );
    });
    await showAll(shown);
  });
});

describe.each([
  { size: "phone", width: 390, height: 844 },
  { size: "desktop", width: 1280, height: 800 },
])("a $size browser", ({ width, height }) => {
  test("shows the default page's buttons without scrolling and sends no requests", async () => {
    const page = await browser.newPage({ viewport: { width, height } });
    const said: string[] = [];
    page.on("console", (message) => said.push(message.text()));
    for (const forPreview of [false, true]) {
      strayed.length = 0;
      // The server has no TLS, and pictures are only loaded over https.
      const link = { ...sampleLink, social_image_url: null };
      const done = await show(page, "/default", renderLinkPage({ ...sample, link, forPreview }));
      expect([done, strayed]).toEqual([[], []]);
      expect(said).toEqual([]);
      expect(await page.locator("h1").textContent()).toBe(sampleLink.social_title);
      const buttons = page.locator("a.store-button");
      expect(await buttons.allTextContents()).toEqual([
        "Open Example Shop",
        "Get it on the App Store",
      ]);
      for (const button of await buttons.all()) {
        const box = await button.boundingBox();
        expect(box?.height).toBeGreaterThanOrEqual(44);
        expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(height);
      }
      // On a phone the card fills the page and has no shadow.
      const shadow = "getComputedStyle(document.querySelector('.card')).boxShadow";
      expect(await page.evaluate(shadow)).toMatch(width < 480 ? /^none$/ : /px/);
      const overflow =
        "document.documentElement.scrollWidth - document.documentElement.clientWidth";
      expect(await page.evaluate(overflow)).toBe(0);
    }
    await page.close();
  });
});

/** Requests use http, because the server has no TLS. */
function plain(text: string): string {
  return text.replaceAll("https://evil", "http://evil");
}

function compileAnyway(body: string, css: string): CompiledTemplate | undefined {
  try {
    return { templates: parseLiquid(body), css, isStarter: false };
  } catch {
    return undefined;
  }
}
