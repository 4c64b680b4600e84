import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { hostile, signInAt } from "../support/console.ts";
import {
  openConsole,
  pressEnter,
  pressOnto,
  tabTo,
  type ConsoleTab,
  lookAtPage,
} from "../support/browser.ts";
import { createServed, runJson, type Folder, type Serving } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** Links in the console, in a real browser: found, created, changed, deleted and restored. */

let folder: Folder;
let serving: Serving;
let tab: ConsoleTab;
let page: Page;

openForAll(createServed, async (opened) => {
  ({ folder, serving } = opened);
  await serving.make("/links", {
    path: "spring",
    name: "Spring",
    url: "https://example.com/spring",
  });
  await serving.make("/links", {
    path: "größe/'\"<b>",
    name: hostile,
    url: "https://example.com/a",
  });
  for (let week = 1; week <= 25; week += 1) {
    await serving.make("/links", {
      path: `week-${week}`,
      name: `Week ${week}`,
      url: "https://example.com/week",
    });
  }
});
beforeEach(async () => {
  tab = await openConsole(serving);
  page = tab.page;
});

async function readLink(path: string) {
  const { body } = await serving.call("GET", `/links?q[path_eq]=${encodeURIComponent(path)}`);
  return body.links[0];
}

const go = (path: string) => page.goto(serving.places.url + path);

test("a link can be created, changed, deleted and restored with only the keyboard", async () => {
  await pressOnto(page, /^Links$/);
  await page.waitForURL("**/links");
  await pressOnto(page, /^New link$/);
  await page.waitForURL("**/links/new");
  await tabTo(page, /^Name$/);
  await page.keyboard.type("Autumn");
  await tabTo(page, /^Path$/);
  await page.keyboard.type("autumn");
  await tabTo(page, /^Web address$/);
  await page.keyboard.type("https://example.com/autumn");
  await pressEnter(page);
  await page.getByText("Link created.").waitFor();
  expect((await readLink("autumn")).url).toBe("https://example.com/autumn");
  const console = await serving.call("GET", "/links?q[created_via_eq]=console");
  expect(console.body.links.map(({ path }: { path: string }) => path)).toEqual(["autumn"]);

  await tabTo(page, /^Web address$/);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("https://elsewhere.example/autumn");
  await pressEnter(page);
  // A new destination host needs a confirmation, as it does for an assistant.
  await page.getByRole("heading", { name: /^Point the link "Autumn" to/ }).waitFor();
  expect((await readLink("autumn")).url).toBe("https://example.com/autumn");
  await pressOnto(page, /^(Change|Point|Go on|Approve|Lead)/);
  await page.getByText("Saved.").waitFor();
  expect((await readLink("autumn")).url).toBe("https://elsewhere.example/autumn");

  await pressOnto(page, /^Delete…$/);
  await page.getByRole("heading", { name: /^Delete the link "Autumn"/ }).waitFor();
  await lookAtPage(page, "delete");
  await pressOnto(page, /^Delete/);
  await page.getByText("Deleted.").waitFor();
  expect(await readLink("autumn")).toBeUndefined();
  await pressOnto(page, /^Deleted$/);
  await page.waitForURL("**/deleted?kind=link");
  await lookAtPage(page, "deleted");
  await pressOnto(page, /^Restore Autumn$/);
  await page.getByText("Restored.").waitFor();
  expect(await readLink("autumn")).toBeDefined();
  expect(tab.complaints).toEqual([]);
});

test("typing a search filters the list and keeps search and sorting in the URL", async () => {
  await go("/links");
  await page.getByLabel("Search links").pressSequentially("week 1");
  const rows = page.locator("tbody tr");
  await expect.poll(() => rows.count()).toBe(12);
  expect(page.url()).toMatch(/\/links\?search=week\+1/);
  await page.getByLabel("Sort by").selectOption("name");
  await expect.poll(() => rows.first().innerText()).toContain("Week 1");
  await rows.first().getByRole("link").click();
  await page.locator(".crumbs a").click();
  await page.waitForLoadState();
  expect(page.url()).toMatch(/\/links\?search=week\+1&sort=name$/);
  await page.reload();
  expect(await page.getByLabel("Search links").inputValue()).toBe("week 1");
});

test("links can be filtered by field, and the filtered list is paginated", async () => {
  await go("/links");
  await page.getByText("Filters").click();
  await page.getByLabel("Field").selectOption("url");
  await page.getByLabel("Condition").selectOption("cont");
  await page.getByLabel("Value").fill("/week");
  await page.getByRole("button", { name: "Add filter" }).click();
  await page.getByText("1–20 of 25").waitFor();
  await page.getByRole("link", { name: "Next" }).click();
  await page.getByText("21–25 of 25").waitFor();
  await page.getByLabel("Search links").pressSequentially("week 2");
  await page.getByRole("status").getByText("1–8 of 8").waitFor({ state: "attached" });
  await page.getByRole("link", { name: "Remove filter: Web address contains /week" }).click();
  await page.waitForURL("**/links?search=week+2");
  // The last page of a list may be empty by the time it is opened.
  await go("/links?search=week&page=9");
  expect(page.url()).toMatch(/search=week&page=2$/);
});

test("saving a link keeps another user's changes to other fields and shows conflicts", async () => {
  const { id } = await serving.make("/links", {
    path: "shared",
    name: "Shared",
    url: "https://example.com/1",
  });
  await go(`/links/${id}`);
  const change = (body: object) => serving.call("PATCH", `/links/${id}`, { body });
  await change({ social_title: "Theirs", name: "Theirs" });
  await page.getByLabel("Name").fill("Mine");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("It is now “Theirs”").waitFor();
  expect((await readLink("shared")).name).toBe("Theirs");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  expect(await readLink("shared")).toMatchObject({ name: "Mine", social_title: "Theirs" });
});

test("links can be searched and created without JavaScript", async () => {
  const { page: bare } = await openConsole(serving, { javaScriptEnabled: false });
  await bare.goto(`${serving.places.url}/links`);
  await bare.getByLabel("Search links").fill("spring");
  await bare.getByRole("button", { name: "Search" }).click();
  await expect.poll(() => bare.locator("tbody tr").count()).toBe(1);
  await bare.getByRole("link", { name: "New link" }).click();
  await bare.getByLabel("Path").fill("without-script");
  await bare.getByRole("button", { name: "Create link" }).click();
  await bare.getByRole("button", { name: "Create it anyway" }).click();
  await bare.getByText("Link created.").waitFor();
});

test("a key that may only read links cannot change them in the console", async () => {
  const words = ["keys", "create", "--scopes", "links.index,links.show", "--data", folder.path];
  const { token } = await runJson(words);
  const { id } = await readLink("spring");
  const reader = await signInAt(serving, token);
  const list = await reader.open("/links?search=spring");
  expect(list.text).toContain("Spring");
  expect(list.text).not.toContain("/links/new");
  const link = await reader.open(`/links/${id}`);
  expect(link.text).not.toMatch(/name="url"|\/delete"/);
  const form_token = /name="form_token" value="([^"]+)"/.exec(link.text)?.[1] ?? "";
  for (const path of ["/links/new", `/links/${id}/delete`]) {
    expect((await reader.post(path, { form_token, path: "made" })).status).toBe(404);
  }
  await reader.post(`/links/${id}`, { form_token, name: "changed", "was.name": "Spring" });
  expect((await readLink("spring")).name).toBe("Spring");
});

test("an API request cannot claim that a link was created in the console", async () => {
  const headers = { via: "console", "x-via": "console", "waypost-via": "console" };
  const sent = { path: "outside", created_via: "console", via: "console" };
  const { status } = await serving.call("POST", "/links", { headers, body: sent });
  expect(status).toBe(201);
  const { body } = await serving.call("GET", "/links?q[created_via_eq]=console");
  expect(body.links.map(({ path }: { path: string }) => path)).not.toContain("outside");
});
