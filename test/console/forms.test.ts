import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { openConsole, lookAtPage } from "../support/browser.ts";
import { createServed, runJson, type Folder, type Serving } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** Forms of the console in a real browser: their errors, and unsaved input. */

let folder: Folder;
let serving: Serving;
let master: string;

openForAll(createServed, async (opened) => {
  ({ folder, serving } = opened);
  master = (await runJson(["keys", "create", "--master", "--data", folder.path])).token;
});

const phone = { width: 390, height: 844 };
const desktop = { width: 1280, height: 800 };

function open(path: string, viewport = desktop, key = serving.key) {
  return openConsole({ ...serving, key }, { viewport, path });
}

async function findLinks(path: string): Promise<readonly unknown[]> {
  return (await serving.call("GET", `/links?q[path_eq]=${path}`)).body.links;
}

async function findProject(suffix = ""): Promise<string> {
  const { body } = await serving.call("GET", "/projects", { key: master });
  return `/projects/${body.projects[0].id}${suffix}`;
}

async function readFaults(page: Page, selector: string): Promise<readonly string[]> {
  const ids = (await page.locator(selector).getAttribute("aria-describedby"))?.split(" ") ?? [];
  const faults = ids.filter((id) => !id.endsWith("-hint"));
  return Promise.all(faults.map((id) => page.locator(`[id="${id}"]`).innerText()));
}

const press = (page: Page, name: string | RegExp) =>
  page.getByRole("button", { name, exact: true }).click();

describe("two input errors", () => {
  type Form = {
    readonly path: () => string | Promise<string>;
    readonly typed: Readonly<Record<string, string>>;
    readonly button: string;
    readonly faults: Readonly<Record<string, RegExp>>;
    readonly isMaster?: boolean;
  };
  const subdomain = "Not a name";
  const forms: Readonly<Record<string, Form>> = {
    "a new link": {
      path: () => "/links/new",
      typed: { "#url": "nowhere", "#ios_fallback_url": "ftp://example.com" },
      button: "Create link",
      faults: { "#url": /http or https/, "#ios_fallback_url": /http or https/ },
    },
    "a link": {
      path: async () => `/links/${(await serving.make("/links", { path: "two-errors" })).id}`,
      typed: { "#url": "nowhere", "#social_image_url": "nothing" },
      button: "Save",
      faults: { "#url": /http or https/, "#social_image_url": /http or https/ },
    },
    "a new Android app": {
      path: () => "/apps/android/new",
      typed: { "#package_name": "x", "#fingerprints": "nothing" },
      button: "Register app",
      faults: { "#package_name": /invalid/, "#fingerprints": /invalid/ },
    },
    "a new webhook": {
      path: () => "/webhooks/new",
      typed: { "#url": "ftp://example.com" },
      button: "Create webhook",
      faults: { "#url": /http or https/, "[aria-labelledby=of-events]": /choose at least one/ },
    },
    "a new project": {
      path: () => "/projects/new",
      typed: { "#name": "Two errors", "#subdomain": subdomain, "#custom_domain": "x y" },
      button: "Create project",
      faults: { "#subdomain": /invalid/, "#custom_domain": /invalid/ },
      isMaster: true,
    },
    "a project's settings": {
      path: () => findProject("/settings"),
      typed: { "#max_links": "many", "#home_url": "nowhere" },
      button: "Save",
      faults: { "#max_links": /whole number/, "#home_url": /http or https/ },
      isMaster: true,
    },
  };

  test.each(Object.entries(forms))(
    "are shown next to their fields in the form for %s",
    async (name, form) => {
      const key = form.isMaster === true ? master : serving.key;
      const { page, complaints } = await open(await form.path(), desktop, key);
      for (const box of await page.locator("input[name=event]").all()) await box.uncheck();
      for (const [selector, text] of Object.entries(form.typed)) {
        await page.locator(selector).fill(text);
      }
      const [first = ""] = Object.keys(form.faults);
      const loaded = page.waitForEvent("load");
      await page.locator(`form:has(${first})`).getByRole("button", { name: form.button }).click();
      await loaded;
      for (const [selector, fault] of Object.entries(form.faults)) {
        expect(await readFaults(page, selector), selector).toEqual([expect.stringMatching(fault)]);
      }
      await page.locator(`${first}:focus`).waitFor();
      for (const [selector, text] of Object.entries(form.typed)) {
        expect(await page.locator(selector).inputValue()).toBe(text);
      }
      expect(await page.locator(".fault").count()).toBe(0);
      await lookAtPage(page, `two-errors ${name}`);
      expect(complaints.filter((text) => !text.includes("422"))).toEqual([]);
    },
  );
});

test("leaving a form shows a warning only if the form has unsaved changes", async () => {
  const { page } = await open("/links/new", phone);
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.type());
    void dialog.dismiss();
  });
  await page.getByLabel("Name").click();
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.waitForURL("**/links");
  expect(dialogs).toEqual([]);

  await page.goto(`${serving.places.url}/links/new`);
  await page.getByLabel("Name").click();
  await page.keyboard.type("Unsaved");
  const asked = page.waitForEvent("dialog");
  await page.getByRole("link", { name: "Cancel" }).click();
  await asked;
  await expect.poll(() => dialogs).toEqual(["beforeunload"]);
  expect(page.url()).toMatch(/\/links\/new$/);
  expect(await page.getByLabel("Name").inputValue()).toBe("Unsaved");

  // Sending the form does not warn. A form that is shown again is still unsaved.
  await page.getByLabel("Web address", { exact: true }).fill("nowhere");
  await press(page, "Create link");
  await page.locator("#url[aria-invalid=true]").waitFor();
  expect(dialogs).toHaveLength(1);
  const again = page.waitForEvent("dialog");
  await page.getByRole("link", { name: "Cancel" }).click();
  await again;
  await expect.poll(() => dialogs).toHaveLength(2);

  await page.getByLabel("Web address", { exact: true }).fill("https://example.com/");
  await page.getByLabel("Path").fill("unsaved");
  await press(page, "Create link");
  await page.getByText("Link created.").waitFor();
  await page.goto(`${serving.places.url}/links`);
  expect(dialogs).toHaveLength(2);
});

test("a link without a destination is created only after a confirmation", async () => {
  const { page, complaints } = await open("/links/new", phone);
  const path = "empty";
  await page.getByLabel("Path").fill(path);
  await press(page, "Create link");
  const question = "This link has no destination. Create it anyway?";
  await page.getByRole("heading", { name: question }).waitFor();
  await lookAtPage(page, "no-destination");
  await page.setViewportSize(phone);
  expect(await findLinks(path)).toEqual([]);
  await press(page, "Back to the form");
  await page.getByText("Nothing was created. Your entries are still here.").waitFor();
  expect(await page.getByLabel("Path").inputValue()).toBe(path);
  expect(await findLinks(path)).toEqual([]);
  await press(page, "Create link");
  await press(page, "Create it anyway");
  await page.getByText("Link created.").waitFor();
  expect(await findLinks(path)).toHaveLength(1);
  expect(complaints).toEqual([]);
});
test("changing the options of a preview does not count as an unsaved change", async () => {
  await serving.make("/links", { path: "newest" });
  const { id } = await serving.make("/links", { path: "previewed" });
  for (const path of ["/template", "/links/new", `/links/${id}`]) {
    const { page } = await open(path);
    const dialogs = watchDialogs(page);
    await page.getByLabel("Android", { exact: true }).check();
    await page.getByLabel("Dark", { exact: true }).check();
    if (path === "/template") await page.getByLabel("Link", { exact: true }).selectOption("sample");
    await page.goto(`${serving.places.url}/apps`);
    expect(dialogs, path).toEqual([]);
    await page.context().close();
  }
});

test("leaving the confirmation of a new link warns only if the form contains input", async () => {
  const { page } = await open("/links/new");
  const dialogs = watchDialogs(page);
  await press(page, "Create link");
  await page.getByRole("heading", { name: "Create it anyway?" }).click();
  await page.goto(`${serving.places.url}/links/new`);
  expect(dialogs).toEqual([]);
  await page.getByLabel("Path").fill("typed-before-the-question");
  await press(page, "Create link");
  await page.getByRole("heading", { name: "Create it anyway?" }).click();
  await page.goto(`${serving.places.url}/links`);
  expect(dialogs).toEqual(["beforeunload"]);
});

function watchDialogs(page: Page): readonly string[] {
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.type());
    void dialog.accept();
  });
  return dialogs;
}

test.each(["url", "ios_fallback_url", "android_fallback_url"])(
  "a link with only a %s is created without a confirmation",
  async (field) => {
    const { page } = await open("/links/new");
    await page.locator("#path").fill(`only-${field}`);
    await page.locator(`#${field}`).fill("https://example.com/");
    await press(page, "Create link");
    await page.getByText("Link created.").waitFor();
    expect(await findLinks(`only-${field}`)).toHaveLength(1);
  },
);

test("saving one form on a project's page warns of unsaved changes in another form", async () => {
  const { page } = await open(await findProject(), desktop, master);
  await page.locator("#max_links").click();
  await page.keyboard.type("7");
  await page.locator("#name").fill("Renamed");
  const dialogs = watchDialogs(page);
  await page.locator("form:has(#name)").getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  expect(dialogs).toEqual(["beforeunload"]);
});
