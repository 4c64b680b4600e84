import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import {
  openConsole,
  pressEnter,
  pressOnto,
  tabTo,
  type ConsoleTab,
  lookAtPage,
  saveShot,
} from "../support/browser.ts";
import { createServed, type Serving } from "../support/command.ts";
import { hostile } from "../support/console.ts";
import { openForAll } from "../support/open-for.ts";

/** Changing several links at once in the console: selected, planned, reviewed and applied. */

let serving: Serving;
let tab: ConsoleTab;
let page: Page;

const many = 55;

openForAll(createServed, async (opened) => {
  ({ serving } = opened);
  const weeks = Array.from({ length: many }, (_, at) => ({
    path: `week-${at}`,
    name: `Week ${at}`,
  }));
  const others = [
    { path: "größe/'\"<b>", name: hostile },
    { path: "b", name: "B" },
    { path: "c", name: "C" },
  ];
  await Promise.all(
    [...weeks, ...others].map((link) =>
      serving.call("POST", "/links", { body: { ...link, url: "https://example.com/a" } }),
    ),
  );
});
beforeEach(async () => {
  tab = await openConsole(serving);
  page = tab.page;
});

const go = (path: string) => page.goto(serving.places.url + path);

async function readLinks(query: string) {
  const { body } = await serving.call("GET", `/links?${query}&limit=100`);
  return body.links;
}

async function untilDone(): Promise<void> {
  await page.locator("#progress .tag", { hasText: "Done" }).waitFor();
}

test("several selected links can be changed with only the keyboard", async () => {
  await go("/links?sort=path");
  await tabTo(page, /^Select B$/);
  await page.keyboard.press("Space");
  await tabTo(page, /^Select C$/);
  await page.keyboard.press("Space");
  await page.getByText("2 selected").waitFor();
  await saveShot(page, "links-selected");
  await pressOnto(page, /^Change…$/);
  await page.getByRole("heading", { name: "Change 2 links" }).waitFor();
  await tabTo(page, /^New value$/);
  await page.keyboard.type("https://elsewhere.example/new");
  await pressEnter(page);
  await page.getByRole("heading", { name: /^Point 2 links to/ }).waitFor();
  await lookAtPage(page, "several-plan");
  expect((await readLinks("q[path_eq]=b"))[0].url).toBe("https://example.com/a");
  await pressOnto(page, /^Change 2 links$/);
  await untilDone();
  expect((await readLinks("q[path_eq]=b"))[0].url).toBe("https://elsewhere.example/new");
  expect(tab.complaints).toEqual([]);
});

test("a change of all matching links must be confirmed by typing the number of links", async () => {
  await go("/links?search=week");
  await page.getByLabel("Select all on this page").check();
  await page.getByText("20 selected").waitFor();
  await page.getByLabel(`All matching links (${many})`).check();
  await page.getByRole("button", { name: "Change…" }).click();
  await page.getByRole("heading", { name: `Change all ${many} links` }).waitFor();
  await page.getByRole("radio", { name: "Add a query parameter to web addresses" }).check();
  await page.getByLabel("Parameter", { exact: true }).fill("utm_source");
  await page.getByLabel("Value", { exact: true }).fill("spring");
  // Only the selected kind of change counts.
  await page.getByLabel("Value", { exact: true }).press("Enter");
  await page.getByLabel(`Type ${many}, the number of links`).fill("54");
  const button = page.getByRole("button", { name: `Change ${many} links` });
  await button.click();
  await page.getByText(`To approve, type the number of links: ${many}.`).waitFor();
  await saveShot(page, "several-count");
  await page.getByLabel(`Type ${many}, the number of links`).fill(String(many));
  await button.click();
  await page.waitForURL("**/jobs/*");
  const changed = { url: "https://example.com/a?utm_source=spring" };
  await expect
    .poll(() => readLinks("q[path_start]=week"))
    .toContainEqual(expect.objectContaining(changed));
});

test("an invalid new value for several links is kept in the form with an error", async () => {
  await go("/links?search=week-1");
  await page.getByLabel("Select Week 10").check();
  await page.getByRole("button", { name: "Change…" }).click();
  await page.getByLabel("New value").first().fill("nowhere");
  await page.getByRole("button", { name: "Show plan" }).click();
  await page.getByText("must be an http or https address").waitFor();
  expect(await page.getByLabel("New value").first().inputValue()).toBe("nowhere");
  await lookAtPage(page, "several-refused");
});

test("a selected link with HTML in its name can be deleted without JavaScript", async () => {
  const { page: bare } = await openConsole(serving, { javaScriptEnabled: false });
  await bare.goto(`${serving.places.url}/links?search=script`);
  await bare.locator("input[name=path]").check();
  await bare.getByRole("button", { name: "Delete…" }).click();
  await bare.getByRole("heading", { name: "Delete 1 link" }).waitFor();
  await bare.getByRole("button", { name: "Delete 1 link" }).click();
  await bare.waitForURL("**/jobs/*");
  await expect.poll(() => readLinks("q[path_start]=gr")).toEqual([]);
});
