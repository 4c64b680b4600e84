import { readFile } from "node:fs/promises";
import type { FrameLocator, Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { drawPng, drawSvg } from "../../src/qr/draw-qr.ts";
import { openConsole, type ConsoleTab, lookAtPage } from "../support/browser.ts";
import { createServed, runJson, type Folder, type Serving } from "../support/command.ts";
import { readFormToken, signInAt } from "../support/console.ts";
import { openForAll } from "../support/open-for.ts";

/** The preview on a link's page in the console, in a real browser. */

const url = "https://example.com/spring";
const seen = "iframe[title^='Preview page']:visible";

let folder: Folder;
let serving: Serving;
let tab: ConsoleTab;
let page: Page;
let framed: FrameLocator;

openForAll(createServed, (opened) => ({ folder, serving } = opened));
beforeEach(async () => {
  tab = await openConsole(serving);
  page = tab.page;
  framed = page.frameLocator(seen);
});

const go = (id: string) => page.goto(`${serving.places.url}/links/${id}`);

const told = (hasText: string) => page.locator("#findings", { hasText });

function readBackground(): Promise<string> {
  return framed.locator("body").evaluate("getComputedStyle(document.body).backgroundColor");
}

test("a link's preview reflects saved changes and the chosen device and color scheme", async () => {
  const { id } = await serving.make("/links", { path: "spring", social_title: "Spring" });
  await go(id);
  await framed.getByRole("heading", { name: "Spring" }).waitFor();
  expect(await framed.locator("body").getAttribute("class")).toBe("ios");
  expect(await readBackground()).toBe("rgb(255, 255, 255)");
  await page.getByLabel("Dark").check();
  await expect.poll(readBackground).toBe("rgb(13, 14, 19)");
  await page.getByLabel("Android", { exact: true }).check();
  await framed.locator("body.android").waitFor();
  expect(await readBackground()).toBe("rgb(13, 14, 19)");
  await page.getByLabel("Social title").fill("Everything blooms");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await framed.getByRole("heading", { name: "Everything blooms" }).waitFor();
  expect(tab.complaints).toEqual([]);
});

test("a link's preview shows unsaved input, and ignores invalid input", async () => {
  const { id } = await serving.make("/links", { path: "may", social_title: "May" });
  await go(id);
  await framed.getByRole("heading", { name: "May" }).waitFor();
  await page.getByLabel("Social title").fill("Everything blooms");
  await framed.getByRole("heading", { name: "Everything blooms" }).waitFor();
  await page.getByLabel("Android", { exact: true }).check();
  await framed.locator("body.android").waitFor();
  await page.getByLabel("Web address", { exact: true }).fill("nowhere");
  await told("must be an http or https address").waitFor();
  await lookAtPage(page, "link draft refused");
  await framed.getByRole("heading", { name: "Everything blooms" }).waitFor();
  await page.getByLabel("Web address", { exact: true }).fill("https://example.com/elsewhere");
  const hasText = "No preview page: visitors are redirected to https://example.com/elsewhere";
  await page.locator(".device:visible", { hasText }).waitFor();
  expect(await page.locator("#findings").innerText()).toBe("");
  const { body } = await serving.call("GET", `/links/${id}`);
  expect(body).toMatchObject({ social_title: "May", url: null, clicks: 0 });
  expect(tab.complaints).toEqual([]);
  await page.context().clearCookies();
  await page.getByLabel("Social title").fill("Nothing blooms");
  await told("Your session has ended.").waitFor();
});

test("the preview of a new link updates with the form and does not reserve the path", async () => {
  await page.goto(`${serving.places.url}/links/new`);
  await framed.getByRole("heading", { name: "Default" }).waitFor();
  await page.getByLabel("Social title").fill("<b>June</b>");
  await page.getByLabel("Path", { exact: true }).fill("june");
  await framed.getByRole("heading", { name: "<b>June</b>" }).waitFor();
  await serving.make("/links", { path: "june" });
  await page.getByRole("button", { name: "Create link" }).click();
  await page.getByRole("button", { name: "Create it anyway" }).click();
  await page.getByText("has already been taken").first().waitFor();
  // The preview shows the error too.
  await told("has already been taken").waitFor();
  const { page: bare } = await openConsole(serving, { javaScriptEnabled: false });
  await bare.goto(`${serving.places.url}/links/new`);
  expect(await bare.getByRole("heading", { name: "Preview" }).count()).toBe(0);
});

test("a preview of unsaved input requires a form token and the scope links.update", async () => {
  const { id } = await serving.make("/links", { path: "own", name: "Own" });
  const sent = await signInAt(serving);
  const typed = { form_token: await readFormToken(sent), name: "Typed" };
  const draw = (fields: object, headers = {}) =>
    sent.post(`/links/${id}/draft`, { ...fields }, headers);
  expect((await draw(typed)).text).toContain('src="/template/page/');
  const foreign = await draw(typed, { origin: "https://evil.example" });
  expect([foreign.status, foreign.text.includes("<iframe")]).toEqual([403, false]);
  expect((await draw({ ...typed, form_token: "x" })).path).toBe(`/links/${id}?again=1`);
  const scopes = ["--scopes", "links.show,page_templates.show"];
  const { token } = await runJson(["keys", "create", ...scopes, "--data", folder.path]);
  const reader = await signInAt(serving, token);
  const form_token = await readFormToken(reader);
  expect((await reader.post(`/links/${id}/draft`, { form_token })).status).toBe(404);
  expect((await reader.open(`/links/${id}`)).text).not.toContain("data-draft=");
});

test("a link's preview shows the live template, or where visitors are redirected", async () => {
  const app = { bundle_id: "com.example.shop", team_id: "ABCDE12345" };
  expect((await serving.call("POST", "/ios_apps", { body: { ios_app: app } })).status).toBe(201);
  const body = "<h1>Live {{ link.path }}</h1>{% store_buttons %}";
  await serving.call("POST", "/page_template/publish", { body: { body } });
  const draft = body.replace("Live", "Draft");
  await serving.call("PATCH", "/page_template", { body: { body: draft } });
  await go(
    (await serving.make("/links", { path: "both", url, ios_app: { bundle_id: app.bundle_id } })).id,
  );
  await framed.getByRole("heading", { name: "Live both" }).waitFor();
  await page.getByLabel("Computer").check();
  const told = page.locator(".device:visible");
  expect(await told.innerText()).toBe(`No preview page: visitors are redirected to ${url}`);
  expect(await page.locator(seen).count()).toBe(0);
  expect(tab.complaints).toEqual([]);
});

test("a link's QR code can be saved as SVG or PNG and contains the URL with ?wp=qr", async () => {
  const { id } = await serving.make("/links", { path: "größe/1", url });
  await go(id);
  const address = `${await page.locator("#address").innerText()}?wp=qr`;
  const save = async (name: string) => {
    const coming = page.waitForEvent("download");
    await page.getByRole("link", { name, exact: true }).click();
    const download = await coming;
    return [download.suggestedFilename(), await readFile(await download.path())] as const;
  };
  expect(await save("SVG")).toEqual(["gr-e-1.svg", Buffer.from((await drawSvg(address)) ?? "")]);
  expect(await save("PNG")).toEqual(["gr-e-1.png", Buffer.from((await drawPng(address)) ?? [])]);
});

test("a QR code request returns 404 if the link is missing or its URL is too long", async () => {
  const tabOf = await signInAt(serving);
  const gone = await tabOf.open("/links/00000000-0000-7000-8000-000000000000/qr.svg");
  expect([gone.status, gone.text.includes("This link does not exist")]).toEqual([404, true]);
  const { id } = await serving.make("/links", { path: "ß".repeat(1000), url });
  for (const ending of ["svg", "png"]) {
    const long = await tabOf.open(`/links/${id}/qr.${ending}`);
    expect([long.status, /is not there|was deleted/.test(long.text)]).toEqual([404, false]);
    expect(long.text).toContain("too long for a QR code");
  }
});
