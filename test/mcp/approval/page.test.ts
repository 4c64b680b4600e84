import { createServer } from "node:http";
import type { BrowserContextOptions, Frame, Page } from "playwright-core";
import { afterEach, describe, expect, test } from "vitest";
import type { AssistantWorld } from "../../support/assistant-world.ts";
import { openTab, createPagedWorld } from "../../support/browser.ts";
import { createUsedFolder, startServe } from "../../support/command.ts";
import { connectV2, type ToolClient } from "../../support/mcp-clients.ts";
import { waitUntil } from "../../support/clock.ts";
import { openForAll, openForEach } from "../../support/open-for.ts";
import { openServer } from "../../support/ports.ts";

/** Tests the approval page in a real Chromium, with the sizes of a phone and a desktop. */

const sizes = {
  phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
  desktop: { viewport: { width: 1280, height: 800 } },
} as const satisfies Record<string, BrowserContextOptions>;

const hostile = [
  ["markup", '</h1><script>document.title="hacked"</script><img src="http://evil.example/x" />'],
  ["an HTML attribute", '"><input name="decision" value="approve" autofocus onfocus="alert(1)">'],
  ["an HTML entity", "&lt;script&gt;&#x3c;/main&#x3e;"],
  ["characters that reverse text", "invoice \u202efdp.exe\u2066 \u200e\u061c"],
  ["a very long word", "W".repeat(500)],
  ["invisible characters", "a\u200b\u{e0041}\u00ad\u2028b"],
] as const;

let assistant: AssistantWorld;
let faults: string[];

openForEach(createPagedWorld, async (opened) => {
  [assistant, faults] = [opened, []];
  await assistant.plant("link", { path: "spring", name: "Spring", url: "https://example.com" });
});

afterEach(() => expect(faults).toEqual([]));

async function call(id = "spring") {
  return await assistant.call("delete_link", { id });
}

async function ask(id?: string): Promise<string> {
  return (await call(id)).error.approval.url;
}

async function open(url: string, options: BrowserContextOptions = sizes.desktop): Promise<Page> {
  const page = await openTab(options);
  page.on("console", (message) => faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => faults.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (new URL(request.url()).host !== new URL(url).host) faults.push(`to ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

async function press(page: Page, name: "Delete link" | "Decline"): Promise<string> {
  const loaded = page.waitForEvent("load");
  await page.getByRole("button", { name }).click();
  await loaded;
  return readHeading(page);
}

function readHeading(page: Page): Promise<string> {
  return page.getByRole("heading").innerText();
}

describe.each(Object.entries(sizes))("the approval page on a %s", (size, options) => {
  test("shows the action, and its button approves exactly one call", async () => {
    const page = await open(await ask(), options);
    expect(await readHeading(page)).toBe('Delete the link "Spring"');
    const text = await page.getByRole("main").innerText();
    for (const shown of [
      "http://default.localhost:8787/spring",
      '"https://example.com"',
      "Clicks",
    ]) {
      expect(text).toContain(shown);
    }

    expect(await press(page, "Delete link")).toBe("Approved");

    expect((await call()).deleted).toBeDefined();
    expect((await call()).error.code).toBe("not_found");
    expect(assistant.writes).toHaveLength(1);
    await page.reload();
    expect(await readHeading(page)).toBe("Approved");
  });

  test("fits the screen despite long texts, and has large buttons", async () => {
    const path = `${"long-".repeat(60)}path`;
    await assistant.plant("link", { path, name: "W".repeat(300) });
    const page = await open(await ask(path), options);
    const [wide, seen] = await page.evaluate<[number, number]>(
      "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
    );
    expect(wide, size).toBe(seen);
    for (const name of ["Delete link", "Decline"]) {
      const box = await page.getByRole("button", { name }).boundingBox();
      expect(box?.height).toBeGreaterThanOrEqual(44);
    }
  });
});

test.each(hostile)("the approval page shows a link name with %s as text", async (_, name) => {
  await assistant.plant("link", { path: "hostile", name });
  const { preview, url } = (await call("hostile")).error.approval;
  const page = await open(url, sizes.phone);

  expect(await readHeading(page)).toBe(preview.split("\n")[0]);
  expect(await readHeading(page)).not.toMatch(/[\u202e\u2066\u200b\u00ad\u2028\u{e0041}]/u);
  expect(await page.title()).toBe("Approve? – Waypost");
  expect(await page.locator("script, img, iframe, h1 *, dd b").count()).toBe(0);
  expect(await page.locator("input").count()).toBe(1);
  expect(await press(page, "Decline")).toBe("Declined");
});

test("the approval page works without JavaScript", async () => {
  const page = await open(await ask(), { ...sizes.phone, javaScriptEnabled: false });
  expect(await press(page, "Delete link")).toBe("Approved");
  expect((await call()).deleted).toBeDefined();
});

describe("the keyboard on the approval page", () => {
  test('moves with Tab to the approve button and then to "Decline"', async () => {
    const page = await open(await ask());
    await page.keyboard.press("Tab");
    const focused = page.locator(":focus");
    expect(await focused.innerText()).toBe("Delete link");
    const outline = "getComputedStyle(document.activeElement).outlineStyle";
    expect(await page.evaluate(outline)).toBe("solid");
    await page.keyboard.press("Tab");
    expect(await focused.innerText()).toBe("Decline");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Declined" }).waitFor();
    expect((await call()).error.code).toBe("approval_declined");
  });

  test("can type and submit a PIN", async () => {
    await using locked = await createPagedWorld({
      pin: (given) => Promise.resolve(given === "correct horse"),
    });
    await locked.plant("link", { path: "spring" });
    const callLocked = async () =>
      (await locked.callTool("delete_link", { id: "spring" })).structured;
    const page = await open((await callLocked()).error.approval.url);
    const sent: string[] = [];
    page.on("request", (request) => sent.push(request.method()));

    await page.getByRole("button", { name: "Delete link" }).click();
    expect(await page.locator(":focus").getAttribute("name")).toBe("pin");

    await page.keyboard.type("correct horse");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Approved" }).waitFor();
    // The browser refused to send the form before the PIN was typed.
    expect(sent).toEqual(["POST"]);
    expect((await callLocked()).deleted).toBeDefined();
  });
});

describe("a page on another site", () => {
  let stranger: string;
  let html: string;
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "text/html").end(html);
  });

  // Only the port differs, but that makes it another origin.
  openForAll(
    () => openServer(server),
    ({ url }) => (stranger = `${url}/`),
  );

  async function visitStranger(): Promise<Page> {
    const page = await openTab(sizes.desktop);
    await page.goto(stranger);
    return page;
  }

  test("cannot show the approval page in a frame", async () => {
    const url = await ask();
    for (const frame of [
      `<iframe src="${url}">`,
      `<object data="${url}">`,
      `<embed src="${url}">`,
    ]) {
      html = `<!doctype html><p>Win a prize!</p>${frame}`;
      const page = await openTab(sizes.desktop);
      const isOver = waitForEnd(page, url);
      await page.goto(stranger);
      await isOver;
      // The browser may have removed the blocked frame.
      const texts = await Promise.all(
        page.frames().map((inner) => readText(inner).catch(() => "refused")),
      );
      expect(texts.join("\n")).toContain("Win a prize!");
      expect(texts.join("\n")).not.toContain("Spring");
      expect(texts.join("\n")).not.toContain("Delete link");
    }
    expect(await ask()).toBe(url);
  });

  test("cannot submit an answer to the approval page or read its content", async () => {
    const url = await ask();
    html = `<form method="post" action="${url}">
      <input type="hidden" name="token" value="guessed">
      <button name="decision" value="approve">Win a prize!</button></form>`;
    const page = await visitStranger();
    const read = await page.evaluate(async (address) => {
      return fetch(address).then(
        (response) => response.text(),
        () => "refused",
      );
    }, url);
    expect(read).toBe("refused");
    await page.getByRole("button").click();
    await page.getByRole("heading").waitFor();
    expect(await readHeading(page)).not.toBe("Approved");
    expect(await ask()).toBe(url);
    expect(assistant.writes).toEqual([]);
  });

  test("cannot reach the approval page through another host name", async () => {
    const url = await ask();
    html = `<form method="post" action="${url}"><button>Go</button></form>`;
    const page = await openTab(sizes.desktop);
    // This host name resolves to this machine, as in DNS rebinding.
    await page.goto(stranger.replace("127.0.0.1", "rebound.localhost"));
    await page.getByRole("button").click();
    await page.getByRole("heading").waitFor();
    expect(await readHeading(page)).toBe("Wrong address");
    await page.goto(url.replace("127.0.0.1", "rebound.localhost"));
    expect(await readHeading(page)).toBe("Wrong address");
  });
});

function waitForEnd(page: Page, url: string): Promise<void> {
  return new Promise((resolve) => {
    for (const end of ["requestfinished", "requestfailed"] as const) {
      // Playwright has no overload for a union of event names.
      page.on(end as "requestfinished", (request) => request.url() === url && resolve());
    }
  });
}

async function readText(frame: Frame): Promise<string> {
  // A removed frame never loads, so limit the wait.
  const timeout = 10_000;
  await frame.waitForLoadState("load", { timeout });
  return frame.locator("body").innerText({ timeout });
}

async function approveOne(client: ToolClient, heading = 'Delete the link "Spring"') {
  await client.callTool("create_link", { path: "spring", name: "Spring" });
  const asked = await client.callTool("delete_link", { id: "spring" });
  const { url } = asked.structured.error.approval;
  const page = await open(url);
  expect(await readHeading(page)).toBe(heading);
  expect(await press(page, "Delete link")).toBe("Approved");
  const done = await client.callTool("delete_link", { id: "spring" });
  expect(done.structured.deleted.path).toBe("spring");
  const again = await client.callTool("delete_link", { id: "spring" });
  expect(again.structured.error.code).toBe("not_found");
  return url;
}

describe("the built command", () => {
  test("opens a local port for the approval page, and closes it after the answer", async () => {
    await using folder = await createUsedFolder();
    await using remote = await createUsedFolder();
    await using server = await startServe(remote.path);
    const env = { WAYPOST_BASE_URL: server.places.url, WAYPOST_API_KEY: server.key };
    await using client = await connectV2({ transport: "stdio", data: folder.path, env });
    const url = await approveOne(client, 'Delete the link "Spring" permanently');
    expect(url).not.toContain(server.places.url);
    expect(new URL(url).hostname).toBe("127.0.0.1");
    // The port stays open for two more seconds.
    const isOpen = () =>
      fetch(url).then(
        () => true,
        () => false,
      );
    await waitUntil(async () => !(await isOpen()));
  });

  test("uses a running server's approval page if WAYPOST_SERVE is off", async () => {
    await using folder = await createUsedFolder();
    const env = { WAYPOST_SERVE: "off" };
    await using client = await connectV2({ transport: "stdio", data: folder.path, env });
    await client.callTool("create_link", { path: "spring", name: "Spring" });
    const refused = (await client.callTool("delete_link", { id: "spring" })).structured.error;
    expect(refused).toMatchObject({ code: "approval_required", effect: "none", retry: "later" });
    expect(refused.message).toContain("WAYPOST_SERVE is off");
    expect(refused.next).toContain(`serve --data ${folder.path}\``);
    expect(refused.approval).not.toHaveProperty("url");
    // A server of the same data folder shows the open question.
    await using server = await startServe(folder.path);
    const asked = (await client.callTool("delete_link", { id: "spring" })).structured.error;
    expect(asked.approval.url).toMatch(new RegExp(`^${server.places.url}/approve/`));
    expect(await press(await open(asked.approval.url), "Delete link")).toBe("Approved");
    const done = await client.callTool("delete_link", { id: "spring" });
    expect(done.structured.deleted.path).toBe("spring");
  });
});
