import chromium from "@sparticuz/chromium";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  chromium as playwright,
  type Browser,
  type BrowserContextOptions,
  type Page,
} from "playwright-core";
import { expect } from "vitest";

/** The real Chromium that comes inside its package: nothing is downloaded. */

/** They let pages do what a person's browser forbids, or crowd all of it into one process. */
const careless = new Set([
  "--disable-web-security",
  "--allow-running-insecure-content",
  "--single-process",
]);

/**
 * Without a graphics card to imitate, and where each process begins as a copy of one that is there,
 * a page is drawn for half of the processor's time.
 */
const costly = /gpu|-gl=|-angle=|swiftshader|no-zygote/;

const manifest = join(import.meta.dirname, "../node_modules/@sparticuz/chromium/package.json");

export async function launchBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await unpack(),
    args: chromium.args
      .filter((word) => !careless.has(word) && !costly.test(word))
      .concat("--disable-gpu"),
    headless: true,
    timeout: 0,
  });
}

/** A tab that shares nothing with others. Whatever is waited for there has the test's own time. */
export async function openTab(browser: Browser, options?: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(0);
  return context.newPage();
}

type Decision = "approve" | "decline";

/** Decides on an approval's page as a person does; answers what stood there before. */
export async function decideInTab(tab: Page, url: string, decision: Decision): Promise<string> {
  await tab.goto(url);
  const text = await tab.getByRole("main").innerText();
  await pressButton(tab, decision);
  const end = decision === "approve" ? "Approved" : "Declined";
  expect(await tab.getByRole("heading").innerText()).toBe(end);
  return text;
}

/** Presses one of the two buttons of an approval's page, and waits for what it shows then. */
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
