import chromium from "@sparticuz/chromium";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rename, rm, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  chromium as playwright,
  type Browser,
  type BrowserContextOptions,
  type Page,
} from "playwright-core";
import { expect, onTestFinished } from "vitest";
import type { Serving } from "./command.ts";
import { browse } from "./console.ts";
import axe from "axe-core";
import {
  createAssistantWorld,
  type AssistantOptions,
  type AssistantWorld,
} from "./assistant-world.ts";
import { createPageListener } from "../../src/mcp/approval/page-listener.ts";
import { approvalPath } from "../../src/mcp/approval/approval-page.ts";

/** Use this for what only a real browser shows: layout, script, keyboard and colors. */

/** Chromium flags that allow what normal browsers forbid, or put all into one process. */
const careless = new Set([
  "--disable-web-security",
  "--allow-running-insecure-content",
  "--single-process",
]);

/** Flags that make drawing slow: without emulated graphics it takes half the processor time. */
const costly = /gpu|-gl=|-angle=|swiftshader|no-zygote/;

const manifest = join(import.meta.dirname, "../node_modules/@sparticuz/chromium/package.json");

/** The browser of this worker, which ends with the worker. */
export async function launchBrowser(): Promise<Browser> {
  if (launched?.isConnected() !== true) launched = await launch();
  return launched;
}

let launched: Browser | undefined;

async function launch(): Promise<Browser> {
  return playwright.launch({
    executablePath: await unpack(),
    args: chromium.args
      .filter((word) => !careless.has(word) && !costly.test(word))
      .concat("--disable-gpu"),
    headless: true,
    timeout: 0,
  });
}

/** A tab that shares nothing with others. Only the test's own time limit ends its waits. */
export async function openTab(options?: BrowserContextOptions): Promise<Page> {
  const page = await openLastingTab(options);
  onTestFinished(() => page.context().close());
  return page;
}

export async function openLastingTab(options?: BrowserContextOptions): Promise<Page> {
  const context = await (await launchBrowser()).newContext(options);
  context.setDefaultTimeout(0);
  return context.newPage();
}

type Decision = "approve" | "decline";

export async function decideInTab(tab: Page, url: string, decision: Decision): Promise<string> {
  await tab.goto(url);
  const text = await tab.getByRole("main").innerText();
  await pressButton(tab, decision);
  const end = decision === "approve" ? "Approved" : "Declined";
  expect(await tab.getByRole("heading").innerText()).toBe(end);
  return text;
}

export async function pressButton(page: Page, decision: Decision): Promise<Page> {
  const loaded = page.waitForEvent("load");
  await page.locator(`button[value=${decision}]`).click();
  await loaded;
  return page;
}

/** Unpacked once for all runs on this machine, and whole from the first moment. */
async function unpack(): Promise<string> {
  const { version } = JSON.parse(await readFile(manifest, "utf8"));
  const folder = join(tmpdir(), `waypost-chromium-${version}`);
  const program = join(folder, "chromium");
  if (existsSync(program)) return program;
  const outer = tmpdir();
  const draft = await mkdtemp(join(outer, "waypost-chromium-"));
  try {
    // The package unpacks into whatever folder is the temporary one.
    process.env["TMPDIR"] = draft;
    await chromium.executablePath();
  } finally {
    process.env["TMPDIR"] = outer;
  }
  // Another run may have been faster.
  await rename(draft, folder).catch(() => rm(draft, { recursive: true }));
  return program;
}

/** A tab that is signed in to the console, and the errors that the browser reports. */
export type ConsoleTab = {
  readonly page: Page;
  readonly complaints: readonly string[];
  readonly takeComplaints: () => readonly string[];
};

type ConsoleOptions = BrowserContextOptions & {
  readonly path?: string;
  readonly open?: typeof openTab;
};

/** Signs in by an HTTP request, which is faster than in the tab, and opens a page there. */
export async function openConsole(
  { places, key }: Pick<Serving, "places" | "key">,
  { path, open = openTab, ...options }: ConsoleOptions = {},
): Promise<ConsoleTab> {
  const page = await open(options);
  const signingIn = browse(places.url);
  await signingIn.open("/sign-in");
  const start = await signingIn.submit({ key });
  const cookies = [...signingIn.cookies].map(([name, value]) => ({ name, value, url: places.url }));
  await page.context().addCookies(cookies);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(places.url)) complaints.push(`asked ${request.url()}`);
  });
  await page.goto(places.url + (path ?? start.path));
  return {
    page,
    complaints,
    takeComplaints: () => complaints.splice(0),
  };
}

/** Presses Tab until an element with this name has the focus, and then Enter. */
export async function pressOnto(page: Page, name: RegExp): Promise<void> {
  await tabTo(page, name);
  await pressEnter(page);
}

/** Presses Enter and waits for the next page, so that a test does not read the current one. */
export async function pressEnter(page: Page): Promise<void> {
  const loaded = page.waitForEvent("load");
  await page.keyboard.press("Enter");
  await loaded;
}

const mostTabs = 80;

export async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let turn = 0; turn < mostTabs; turn += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate<string>(nameFocused);
    if (name.test(focused)) return;
  }
  throw new Error(`nothing that is called ${String(name)} has the focus`);
}

const nameFocused = `(() => {
  const element = document.activeElement;
  const label = element.labels?.[0]?.textContent ?? "";
  return (element.getAttribute("aria-label") ?? (label || element.textContent)).trim();
})()`;

/** Looks at a page on each screen with axe. SCREENSHOTS=FOLDER saves every look as a picture. */

const { SCREENSHOTS: shots } = process.env;
export const sizes = {
  phone: { width: 360, height: 740 },
  desktop: { width: 1440, height: 900 },
};
const screens = {
  phone: sizes.phone,
  landscape: { width: 740, height: 360 },
  tablet: { width: 768, height: 1024 },
  desktop: sizes.desktop,
};
/** Only violations are reported, and their HTML is enough to find them. */
const axeOptions = { iframes: false, resultTypes: ["violations"], selectors: false };
const colorsOnly = { runOnly: ["color-contrast", "link-in-text-block"] };
/** Chromium cannot draw higher pages at once. */
const mostHeight = 8000;
/** Only colors depend on the color scheme, so all else is checked in one scheme per size. */
const checked: Readonly<Record<string, "light" | "dark">> = { phone: "light", desktop: "dark" };

/** axe finds nothing on the narrowest and the widest screen, and the page fits all of them. */
export async function lookAtPage(page: Page, name: string): Promise<void> {
  await page.evaluate(axe.source);
  for (const [screen, size] of Object.entries(screens)) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: "light" });
    if (checked[screen] === "dark") expect(await findViolations(page, colorsOnly)).toEqual([]);
    await page.emulateMedia({ colorScheme: checked[screen] ?? "light" });
    await saveShot(page, `${name} ${screen}`);
    if (screen in checked) expect(await findViolations(page), screen).toEqual([]);
    const [wide, seen] = await page.evaluate<[number, number]>(
      "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
    );
    expect(wide, screen).toBeLessThanOrEqual(seen);
  }
}

type Violation = {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
};

async function findViolations(page: Page, options: object = {}): Promise<readonly string[]> {
  const text = JSON.stringify({ ...axeOptions, ...options });
  const run = `axe.run(document, ${text}).then(({ violations }) => violations)`;
  const violations = await page.evaluate<readonly Violation[]>(run);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** Saves a screenshot if SCREENSHOTS=FOLDER is set. */
export async function saveShot(page: Page, name: string): Promise<void> {
  if (shots === undefined) return;
  await mkdir(shots, { recursive: true });
  const path = join(shots, `${name.replace(/\W+/g, "-")}.png`);
  const { width } = page.viewportSize() ?? sizes.desktop;
  // A frame outside the window is not painted.
  const height = await page.evaluate<number>("document.documentElement.scrollHeight");
  await page.setViewportSize({ width, height: Math.min(height, mostHeight) });
  await page.waitForTimeout(300);
  await page.screenshot({ path, fullPage: true });
}

/** An assistant's world whose approval pages are at a port, where a browser can open them. */
export async function createPagedWorld(options: AssistantOptions = {}): Promise<AssistantWorld> {
  const listener = createPageListener((request) => assistant.fetchPage(request));
  const openPage = (id: string) => listener.open(approvalPath, id);
  const assistant = await createAssistantWorld({ ...options, openPage });
  return {
    ...assistant,
    [Symbol.asyncDispose]: async () => {
      listener.close();
      await assistant[Symbol.asyncDispose]();
    },
  };
}
