import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { browse, callTool, hostile, signInAt } from "../support/console.ts";
import {
  openConsole,
  pressOnto,
  type ConsoleTab,
  lookAtPage,
  saveShot,
} from "../support/browser.ts";
import { createServed, runJson, type Folder, type Serving } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** Plans and jobs in the console: applied, followed, cancelled, resumed and undone. */

let folder: Folder;
let serving: Serving;
let tab: ConsoleTab;
let page: Page;

openForAll(createServed, (opened) => ({ folder, serving } = opened));
beforeEach(async () => {
  tab = await openConsole(serving);
  page = tab.page;
});

const go = (path: string) => page.goto(serving.places.url + path);

async function plan(args: object): Promise<string> {
  const { plan: made } = await callTool(serving, "plan_links", args);
  return made.id;
}

const untilDone = () => page.locator("#progress .tag", { hasText: "Done" }).waitFor();

async function countLinks(start: string): Promise<number> {
  const { body } = await serving.call("GET", `/links?q[path_start]=${start}&limit=100`);
  return body.links.length;
}

function makeRows(start: string, count: number) {
  return Array.from({ length: count }, (_, at) => ({ path: `${start}-${at}`, name: hostile }));
}

test("a job can be started, cancelled and resumed with only the keyboard", async () => {
  const id = await plan({ operation: "upsert", rows: makeRows("week", 150) });
  await go(`/plans/${id}`);
  expect(await countLinks("week")).toBe(0);
  await pressOnto(page, /^Create 150 links$/);
  await page.getByText("Running").waitFor();
  await pressOnto(page, /^Cancel$/);
  await page.getByText("Cancelled").waitFor();
  expect(await countLinks("week")).toBeLessThan(100);
  await lookAtPage(page, "job-stopped");

  await pressOnto(page, /^Resume…$/);
  await page.getByRole("heading", { name: /^Resume a cancelled job/ }).waitFor();
  await pressOnto(page, /^Create/);
  await page.waitForURL("**/jobs/*");
  await page.getByText("Running").waitFor();
  await pressOnto(page, /^Cancel$/);
  await page.getByText("Cancelled").waitFor();
  await go("/jobs");
  await page.getByRole("table").waitFor();
  expect(tab.complaints).toEqual([]);
});

test("a job can be undone by another job", async () => {
  const id = await plan({ operation: "upsert", rows: makeRows("back", 3) });
  await go(`/plans/${id}`);
  await lookAtPage(page, "plan");
  await pressOnto(page, /^Create 3 links$/);
  await untilDone();
  await pressOnto(page, /^Undo…$/);
  await page.getByRole("heading", { name: /^Undo a job: Delete 3 links/ }).waitFor();
  await lookAtPage(page, "undo");
  await pressOnto(page, /^Delete 3 links$/);
  await untilDone();
  expect(await countLinks("back")).toBe(0);
});

test("a job's page lists each failed row with the API's message", async () => {
  const made = await serving.call("POST", "/links", { body: { path: "moved", name: "Moved" } });
  const rows = [{ path: "fresh" }, { path: "moved", name: hostile }];
  const id = await plan({ operation: "upsert", rows });
  await serving.call("PATCH", `/links/${made.body.id}`, { body: { name: "Somebody else's" } });
  await go(`/plans/${id}`);
  await pressOnto(page, /^Create 1 link and change 1$|^Create 1 link/);
  await untilDone();
  await page.getByRole("link", { name: /^Failed 1/ }).waitFor();
  const shown = page.locator("tbody tr");
  expect(await shown.count()).toBe(1);
  expect(await shown.innerText()).toMatch(/\/moved\s[^]*Row 2, change\s+\S.+[^]*Rejected/);
  await lookAtPage(page, "job-failed");
  await page.getByRole("link", { name: /^All 2/ }).click();
  await page.waitForURL("**?rows=all");
  expect(await shown.count()).toBe(2);
});

test("the start page shows a running job until the job is done", async () => {
  const id = await plan({ operation: "upsert", rows: makeRows("front", 40) });
  await go(`/plans/${id}`);
  await pressOnto(page, /^Create 40 links$/);
  await go("/");
  await page.locator("#jobs progress").waitFor();
  await saveShot(page, "start-running");
  await page.locator("#jobs progress").waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Created 40 links" }).click();
  await page.waitForURL("**/jobs/*");
});

test("a plan that changes while its page is open is shown again and applied once", async () => {
  await serving.call("POST", "/links", { body: { path: "twice", name: "Before" } });
  const id = await plan({ operation: "upsert", rows: [{ path: "twice", name: "After" }] });
  const hand = await signInAt(serving);
  const shown = await hand.open(`/plans/${id}`);
  const again = await hand.submit({ shown: "of something else" });
  expect(again.text).toContain("This has changed in the meantime.");
  const fields = readFields(again.text);
  expect(fields["question"]).not.toBe("");
  const sent = await Promise.all(
    [fields, fields, readFields(shown.text)].map((form) => press(`/plans/${id}`, form)),
  );
  const jobs = await hand.open("/jobs");
  expect(sent.length).toBe(3);
  expect(jobs.text.match(/Changed 1 link/g)?.length).toBe(1);

  function press(path: string, form: Record<string, string>) {
    const other = browse(serving.places.url);
    for (const [name, value] of hand.cookies) other.cookies.set(name, value);
    return other.post(path, form);
  }
});

test("the pages of a plan and its job return 404 to a user with another key", async () => {
  const id = await plan({ operation: "upsert", rows: makeRows("mine", 1) });
  const words = ["keys", "create", "--data", folder.path];
  const stranger = await signInAt(serving, (await runJson(words)).token);
  const { text: start } = await stranger.open("/");
  const form_token = /name="form_token" value="([^"]+)"/.exec(start)?.[1] ?? "";
  await go(`/plans/${id}`);
  await pressOnto(page, /^Create 1 link$/);
  await page.waitForURL("**/jobs/*");
  const job = new URL(page.url()).pathname;
  for (const path of [`/plans/${id}`, job]) {
    expect((await stranger.open(path)).status).toBe(404);
  }
  for (const path of [`${job}/cancel`, `${job}/undo`, `/plans/${id}`]) {
    expect((await stranger.post(path, { form_token })).status).toBe(404);
  }
  const { token } = await runJson([...words, "--scopes", "links.index,links.show"]);
  const viewer = await signInAt(serving, token);
  expect((await viewer.open("/links")).text).not.toMatch(/links\/(several|import)/);
  for (const path of ["/links/new", "/links/several", "/links/import"]) {
    const { status, text } = await viewer.open(path);
    expect(status).toBe(404);
    expect(text).toContain("or your key may not open it");
  }
  expect((await viewer.open(`/plans/${id}`)).status).toBe(404);
});

function readFields(text: string): Record<string, string> {
  const main = text.replace(/<header[^]*?<\/header>/, "");
  const tags = [...main.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([tag]) => tag);
  return Object.fromEntries(
    tags.map((tag) => [
      /name="([^"]*)"/.exec(tag)?.[1] ?? "",
      /value="([^"]*)"/.exec(tag)?.[1] ?? "",
    ]),
  );
}
