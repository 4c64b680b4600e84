import type { FrameLocator, Locator, Page } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { browse, signInAt } from "../support/console.ts";
import { openConsole, pressOnto, tabTo, type ConsoleTab, lookAtPage } from "../support/browser.ts";
import { createServed, runJson, type Folder, type Serving } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** The page template in the console, in a real browser: edited, previewed and published. */

const first = "<h1>{{ link.name }}</h1>\n<p>First on {{ platform }}</p>\n{% store_buttons %}\n";
const second = first.replace("First", "Second");
const mine = first.replace("First", "Mine");
const broken = "<h1>{{ link.name }}</h1>\n<script>1</script>\n{% store_buttons %}\n";
const seen = "iframe[title^='Preview page']:visible";

let folder: Folder;
let serving: Serving;
let key: string;
let tab: ConsoleTab;
let page: Page;
let framed: FrameLocator;

openForAll(createServed, async (opened) => {
  ({ folder, serving } = opened);
  const title = { name: "Spring", social_title: "Spring" };
  const body = { path: "spring", ...title, url: "https://example.com/spring" };
  expect((await serving.call("POST", "/links", { body })).status).toBe(201);
});
beforeEach(async () => {
  // Each key has its own limit of sixty previews a minute.
  ({ token: key } = await runJson(["keys", "create", "--data", folder.path]));
});

async function open(address: string): Promise<void> {
  tab = await openConsole({ places: serving.places, key }, { path: address });
  page = tab.page;
  framed = page.frameLocator(seen);
}

const go = (address: string) => page.goto(serving.places.url + address);

async function readDraft(): Promise<string> {
  return (await serving.call("PATCH", "/page_template", { body: {} })).body.body;
}

async function readLive(): Promise<string | undefined> {
  const { body } = await serving.call("PATCH", "/page_template", { body: {} });
  return body.live_version?.body;
}

test("a template can be fixed, published and restored with only the keyboard", async () => {
  await open("/");
  await pressOnto(page, /^Page template$/);
  await page.waitForURL("**/template");
  await page.getByText("No draft exists yet.").waitFor();
  await framed.getByRole("heading", { name: "Spring" }).waitFor();

  await tabTo(page, /^Body$/);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(broken);
  await page.getByRole("link", { name: "Body, line 2" }).waitFor();
  await framed.getByRole("heading", { name: "Spring" }).waitFor();
  expect(await page.locator("#findings").innerText()).toContain("<script> is not allowed");
  await tabTo(page, /^Body, line 2$/);
  await page.keyboard.press("Enter");
  expect(await page.evaluate<string>("document.activeElement.id")).toBe("body");
  await page.keyboard.insertText("<p>First on {{ platform }}</p>");
  await tabTo(page, /^CSS$/);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.press("Delete");
  await framed.getByText("First on ios").waitFor();
  await expect.poll(() => page.locator("#findings").innerText()).toBe("");

  await pressOnto(page, /^Save draft$/);
  await page.getByText("Saved.").waitFor();
  expect([await readDraft(), await readLive()]).toEqual([first, undefined]);

  await pressOnto(page, /^Publish…$/);
  await page.getByRole("heading", { name: /^Publish this page for all links/ }).waitFor();
  await page.frameLocator("iframe").nth(1).getByText("First on ios").waitFor();
  await lookAtPage(page, "template publish");
  expect(await readLive()).toBeUndefined();
  await pressOnto(page, /^Publish page$/);
  await page.getByText("Published.").waitFor();
  expect(await readLive()).toBe(first);

  await serving.call("POST", "/page_template/publish", { body: { body: second } });
  await page.reload();
  expect(await page.getByLabel("Body").inputValue()).toBe(second);
  await tabTo(page, /^Restore the version/);
  await pressOnto(page, /^Restore the version/);
  await page.getByRole("heading", { name: /^Restore an older version/ }).waitFor();
  await pressOnto(page, /^Restore version$/);
  await page.getByText("Restored.").waitFor();
  expect([await readDraft(), await readLive()]).toEqual([first, second]);
  // The frames of the question block the picture of the default page's sample link.
  const others = tab.complaints.filter((text) => !text.includes("www.example.com/spring.jpg"));
  expect(others).toEqual([]);
});

test("the template preview follows the chosen device and color scheme", async () => {
  await serving.call("PATCH", "/page_template", { body: { body: second, css } });
  await open("/template");
  await framed.getByText("Second on ios").waitFor();
  expect(await readBackground()).toBe("rgb(255, 255, 255)");
  await page.getByLabel("Dark").check();
  await expect.poll(readBackground).toBe("rgb(0, 0, 0)");
  await page.getByLabel("Android").check();
  await framed.getByText("Second on android").waitFor();
  expect(await readBackground()).toBe("rgb(0, 0, 0)");
  await page.getByLabel("Computer").check();
  await framed.getByText("Second on desktop").waitFor();
  await page.getByRole("button", { name: "Save draft" }).click();
  await page.getByText("Saved.").waitFor();
  await framed.getByText("Second on desktop").waitFor();
  expect(await page.getByLabel("Dark").isChecked()).toBe(true);
  expect(tab.complaints).toEqual([]);
});

const css =
  "body { background: rgb(255, 255, 255) }\n" +
  "@media (prefers-color-scheme: dark) { body { background: rgb(0, 0, 0) } }\n";

function readBackground(): Promise<string> {
  return framed.locator("body").evaluate("getComputedStyle(document.body).backgroundColor");
}

test("the template editor passes axe while it shows problems, in every color scheme", async () => {
  await open("/template?from=starter");
  await page.getByText("This is the starter template.").waitFor();
  await page.getByLabel("Body").fill(broken);
  await page.getByLabel("CSS").fill("h1 {\n  color: url(x);\n}\n");
  await page.getByRole("button", { name: "Save draft" }).click();
  await page.getByText("Not saved").waitFor();
  expect(await page.locator(":focus").innerText()).toBe("Body, line 2");
  await page.getByRole("link", { name: "CSS, line 2" }).waitFor();
  await lookAtPage(page, "template problems");
});

const path = "/template?from=starter";
const windows = {
  desktop: { path, viewport: { width: 1280, height: 800 } },
  phone: { path, viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};

describe.each(Object.entries(windows))("the template editor in a %s window", (_, options) => {
  test.each(["Body", "CSS"])("scrolls the %s field to its last line", async (label) => {
    const tab = await openConsole({ places: serving.places, key }, options);
    const area = await findText(tab.page, label);
    const last = await countLines(area);
    expect(last).toBeGreaterThan(30);
    await tab.page.mouse.wheel(0, 100_000);
    await expect.poll(() => readLineAt(area, last)).toBe(last);
    // Each number is next to its line in the middle of the text too, and far to the right.
    await tab.page.mouse.wheel(200, -200);
    await expect.poll(() => readLineAt(area, last)).toBeNull();
    expect(await readLineAt(area, last - 12)).toBe(last - 12);
  });

  test("focuses the first problem after a failed save and marks its line number", async () => {
    const tab = await openConsole({ places: serving.places, key }, options);
    const area = await findText(tab.page, "CSS");
    const last = await countLines(area);
    await area.press("ControlOrMeta+End");
    await tab.page.keyboard.insertText("h1 { color: url(x) }");
    await tab.page.getByRole("button", { name: "Save draft" }).click();
    const summary = tab.page.getByText("Not saved");
    await summary.waitFor();
    await tab.page.waitForLoadState();
    const top = (await summary.boundingBox())?.y ?? -1;
    expect(top).toBeGreaterThan(0);
    expect(top).toBeLessThan(options.viewport.height);
    expect(await tab.page.locator(":focus").innerText()).toBe(`CSS, line ${last}`);
    await tab.page.keyboard.press("Enter");
    await expect.poll(() => readLineAt(area, last)).toBe(last);
    const marked = await tab.page.locator(".gutter b").allInnerTexts();
    expect(marked).toEqual([String(last)]);
  });

  test("shows the live and the new version side by side before publication", async () => {
    await serving.call("POST", "/page_template/publish", { body: { body: first, css } });
    const given = { ...options, path: "/template" };
    const { page: shown } = await openConsole({ places: serving.places, key }, given);
    await shown.getByLabel("Body").fill(second);
    await shown.getByRole("button", { name: "Publish…", exact: true }).click();
    await shown.getByRole("heading", { name: /^Publish this page for all links/ }).waitFor();
    const frames = [0, 1].map((index) => shown.locator("iframe").nth(index));
    await frames[0]?.contentFrame().getByText("First on ios").waitFor();
    await frames[1]?.contentFrame().getByText("Second on ios").waitFor();
    const [left, right] = await Promise.all(frames.map((frame) => frame.boundingBox()));
    expect(left?.y).toBe(right?.y);
    expect((right?.x ?? 0) + (right?.width ?? 0)).toBeLessThan(options.viewport.width);
    const added = shown.getByText("+ <p>Second on {{ platform }}</p>");
    expect(await added.isVisible()).toBe(false);
    await shown.getByText("Changed lines: Body +1 −1").click();
    expect(await added.isVisible()).toBe(true);
    expect(await shown.getByText("background: rgb").count()).toBe(0);
  });
});

test("the template editor numbers lines correctly in browsers without field-sizing", async () => {
  const tab = await openConsole({ places: serving.places, key }, windows.desktop);
  const area = await findText(tab.page, "Body");
  await tab.page.evaluate("document.getElementById('body').style.fieldSizing = 'fixed'");
  await area.press("ControlOrMeta+End");
  await tab.page.keyboard.insertText("<p>more</p>\n".repeat(40));
  const last = await countLines(area);
  await expect.poll(() => readLineAt(area, last)).toBe(last);
  expect(await readLineAt(area, last - 12)).toBe(last - 12);
});

async function findText(shown: Page, label: string): Promise<Locator> {
  const area = shown.getByLabel(label);
  const box = `document.getElementById("${label.toLowerCase()}").parentElement`;
  await shown.evaluate(`${box}.scrollIntoView({ block: "center" })`);
  await area.locator("..").hover();
  return area;
}

async function countLines(area: Locator): Promise<number> {
  return (await area.inputValue()).split("\n").length;
}

/** Returns the line of text next to a line number, or null while the number is hidden. */
async function readLineAt(area: Locator, line: number): Promise<number | null> {
  const id = await area.getAttribute("id");
  return area.page().evaluate<number | null>(`(() => {
    const gutter = document.getElementById("${id}-lines");
    const texts = document.createTreeWalker(gutter, NodeFilter.SHOW_TEXT);
    let found = null;
    while (found === null) found = /\\b${line}\\b/.exec(texts.nextNode().data);
    const range = document.createRange();
    range.setStart(texts.currentNode, found.index);
    range.setEnd(texts.currentNode, found.index + found[0].length);
    const { left, right, top, bottom } = range.getBoundingClientRect();
    const y = (top + bottom) / 2;
    if (!gutter.contains(document.elementFromPoint((left + right) / 2, y))) return null;
    const x = gutter.getBoundingClientRect().right + 20;
    const { offsetNode, offset } = document.caretPositionFromPoint(x, y);
    return offsetNode.value.slice(0, offset).split("\\n").length;
  })()`);
}

test("the template editor shows problems and a preview without JavaScript", async () => {
  const options = { javaScriptEnabled: false, path: "/template" };
  const { page: bare } = await openConsole({ places: serving.places, key }, options);
  await bare.getByLabel("Body").fill(broken);
  await bare.getByRole("button", { name: "Show" }).click();
  await bare.getByRole("link", { name: "Body, line 2" }).click();
  expect(bare.url()).toMatch(/#body-2$/);
  expect(await bare.locator("#body-2").innerText()).toBe("2");
  expect(await bare.getByLabel("Body").inputValue()).toBe(broken);
  await bare.getByLabel("Body").fill(first);
  await bare.getByLabel("Android").check();
  await bare.getByRole("button", { name: "Show" }).click();
  await bare.frameLocator(seen).getByText("First on android").waitFor();
  await bare.getByRole("button", { name: "Save draft" }).click();
  await bare.getByText("Saved.").waitFor();
  expect(await readDraft()).toBe(first);
});

test("the template editor says that the draft is empty even if a version is live", async () => {
  await serving.call("POST", "/page_template/publish", { body: { body: second } });
  await serving.call("PATCH", "/page_template", { body: { body: "", css: "" } });
  await open("/template");
  const note = await page.locator(".note").innerText();
  expect(note).toBe(
    "The draft is empty. This is the starter template. Links show the live version.",
  );
});

test("leaving the template editor after a cancelled publication shows no warning", async () => {
  await serving.call("PATCH", "/page_template", { body: { body: first, css: "" } });
  await open("/");
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.type());
    void dialog.accept();
  });
  await go("/template");
  await page.getByLabel("Body").fill(mine);
  await page.getByRole("button", { name: "Publish…", exact: true }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("You cancelled.").waitFor();
  expect(await readDraft()).toBe(mine);
  await page.getByLabel("Body").click();
  await go("/links");
  expect(dialogs).toEqual([]);
  await go("/template");
  await page.getByLabel("Body").fill(second);
  await go("/links");
  expect(dialogs).toEqual(["beforeunload"]);
});

test("the template editor keeps the user's input if another user saves a draft", async () => {
  await serving.call("PATCH", "/page_template", { body: { body: first } });
  await open("/template");
  await serving.call("PATCH", "/page_template", { body: { body: second } });
  await page.getByLabel("Body").fill(mine);
  await page.getByRole("button", { name: "Save draft" }).click();
  await page.getByText("Someone else changed the draft in the meantime.").waitFor();
  expect(await readDraft()).toBe(second);
  expect(await page.getByLabel("Body").inputValue()).toBe(mine);
  await page.getByRole("button", { name: "Save draft" }).click();
  await page.getByText("Saved.").waitFor();
  expect(await readDraft()).toBe(mine);
});

test("the published template can be unpublished after a confirmation", async () => {
  await serving.call("POST", "/page_template/publish", { body: { body: first } });
  await open("/template");
  await page.getByRole("button", { name: "Unpublish…" }).click();
  await page.getByRole("heading", { name: /^Unpublish the project's page/ }).waitFor();
  await page.getByRole("button", { name: "Unpublish page" }).click();
  await page.getByText("Unpublished.").waitFor();
  await page.getByText("Links show the default page.", { exact: true }).waitFor();
  expect(await readLive()).toBeUndefined();
});

test("a user whose key may only read templates cannot save or publish a template", async () => {
  await serving.call("PATCH", "/page_template", { body: { body: first } });
  const data = ["--data", folder.path];
  const scopes = ["--scopes", "page_templates.show,links.index,links.show"];
  const { token } = await runJson(["keys", "create", ...scopes, ...data]);
  const reader = await signInAt(serving, token);
  const shown = await reader.open("/template");
  expect(shown.text).toContain("<textarea");
  expect(shown.text).not.toMatch(/Save draft|Publish…|Restore…|Unpublish…/);
  const form_token = /name="form_token" value="([^"]+)"/.exec(shown.text)?.[1] ?? "";
  for (const act of ["save", "publish", "unpublish", "restore"]) {
    await reader.post("/template", { form_token, do: act, body: second, css: "", was: "" });
  }
  expect([await readDraft(), await readLive()]).toEqual([first, undefined]);
  const { token: none } = await runJson(["keys", "create", "--scopes", "links.index", ...data]);
  const stranger = browse(serving.places.url);
  await stranger.open("/sign-in");
  expect((await stranger.submit({ key: none })).text).not.toContain("Page template");
  expect((await stranger.open("/template")).status).toBe(404);
});
