import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { openTab } from "./browser.ts";
import type { Serving } from "./command.ts";

/** A tab in which somebody is signed in at the console, and what the browser complained of. */
export type ConsoleTab = {
  readonly page: Page;
  readonly complaints: readonly string[];
  /** Those since they were last asked for. */
  readonly takeComplaints: () => readonly string[];
};

export async function openConsole(
  browser: Browser,
  { places, key }: Pick<Serving, "places" | "key">,
  options?: BrowserContextOptions,
): Promise<ConsoleTab> {
  const page = await openTab(browser, options);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(places.url)) complaints.push(`asked ${request.url()}`);
  });
  await page.goto(places.url);
  // By the keyboard alone: the field has the focus, soon after it is there.
  await page.locator("#key:focus").waitFor();
  await page.keyboard.type(key);
  await pressEnter(page);
  return {
    page,
    complaints,
    takeComplaints: () => complaints.splice(0),
  };
}

/** Goes on with the keyboard until something of this name has the focus, and presses Enter. */
export async function pressOnto(page: Page, name: RegExp): Promise<void> {
  await tabTo(page, name);
  await pressEnter(page);
}

/** Whoever looks before the next page is there may look at one that is going. */
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
