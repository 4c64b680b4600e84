import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { launchBrowser } from "../support/browser.ts";
import { createServed } from "../support/command.ts";
import { openConsole, pressOnto, tabTo, type ConsoleTab } from "../support/console-tab.ts";

/** What else the console is for, done with the keyboard alone: beside the pages' own tests. */

let browser: Browser;
let served: Awaited<ReturnType<typeof createServed>>;
let tab: ConsoleTab;
let page: Page;

beforeAll(async () => {
  [browser, served] = await Promise.all([launchBrowser(), createServed()]);
  tab = await openConsole(browser, served.serving);
  page = tab.page;
});
beforeEach(() => page.goto(served.serving.places.url));
afterAll(async () => {
  expect(tab.complaints).toEqual([]);
  await browser.close();
  await served[Symbol.asyncDispose]();
});

test("a file is chosen, its plan looked at, and its links are made", async () => {
  await pressOnto(page, /^Links$/);
  await pressOnto(page, /^Import$/);
  // A browser that is told so late that somebody waits for it would open a window of its own.
  const choosing = page.waitForEvent("filechooser");
  await tabTo(page, /^File$/);
  await page.keyboard.press("Enter");
  const buffer = Buffer.from("path\nby-key-1\nby-key-2\n");
  await (await choosing).setFiles({ name: "links.csv", mimeType: "text/csv", buffer });
  await pressOnto(page, /^Show the plan$/);
  await page.getByRole("heading", { name: "Create 2 links" }).waitFor();
  await pressOnto(page, /^Create 2 links$/);
  await page.locator("#progress .tag", { hasText: "Done" }).waitFor();
  const { body } = await served.serving.call("GET", "/links?q[path_start]=by-key");
  expect(body.links).toHaveLength(2);
});

test("a key for an app is made, shown and revoked", async () => {
  await pressOnto(page, /^Keys$/);
  await pressOnto(page, /^New client key$/);
  await page.getByRole("heading", { name: "Your new client key" }).waitFor();
  await pressOnto(page, /^I have copied it$/);
  const name = await page.locator("[aria-labelledby=client-keys] code").first().innerText();
  await pressOnto(page, new RegExp(`^Revoke ${name.replaceAll(/\W/g, ".")}`));
  await page.getByRole("heading", { name: /^Revoke/ }).waitFor();
  await pressOnto(page, /^Revoke/);
  await page.getByText("The key is revoked.").waitFor();
});

test("a webhook is made, and revoked after a yes", async () => {
  await pressOnto(page, /^Webhooks$/);
  await pressOnto(page, /^New webhook$/);
  await tabTo(page, /^Address$/);
  await page.keyboard.type("https://hooks.example.com/waypost");
  await pressOnto(page, /^Make webhook$/);
  await page.getByRole("heading", { name: "Your new webhook" }).waitFor();
  await pressOnto(page, /^I have copied it$/);
  await pressOnto(page, /hooks\.example\.com/);
  await pressOnto(page, /^Revoke…$/);
  await page.getByRole("heading", { name: /^Revoke the webhook/ }).waitFor();
  await pressOnto(page, /^Revoke/);
  await page.getByText("The webhook is revoked.").waitFor();
});
