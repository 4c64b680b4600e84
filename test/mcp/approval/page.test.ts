import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContextOptions, Frame, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { AssistantWorld } from "../../support/assistant-world.ts";
import { launchBrowser, openTab, createPagedWorld } from "../../support/browser.ts";
import { createFolder, startServe } from "../../support/command.ts";
import { connectV1, connectV2, type Connected } from "../../support/mcp-clients.ts";
import { waitUntil } from "../../support/clock.ts";

/** The approval page before a person: a real Chromium, on a phone and on a desk. */

const sizes = {
  phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
  desktop: { viewport: { width: 1280, height: 800 } },
} as const satisfies Record<string, BrowserContextOptions>;

const hostile = [
  ["markup", '</h1><script>document.title="hacked"</script><img src="http://evil.example/x" />'],
  ["an attribute", '"><input name="decision" value="approve" autofocus onfocus="alert(1)">'],
  ["an entity", "&lt;script&gt;&#x3c;/main&#x3e;"],
  ["letters that turn around", "invoice \u202efdp.exe\u2066 \u200e\u061c"],
  ["a very long word", "W".repeat(500)],
  ["what cannot be seen", "a\u200b\u{e0041}\u00ad\u2028b"],
] as const;

let browser: Browser;
let assistant: AssistantWorld;
/** What a page did that it must not do. */
let faults: string[];

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
});

beforeEach(async () => {
  faults = [];
  assistant = await createPagedWorld();
  await assistant.plant("link", { path: "spring", name: "Spring", url: "https://example.com" });
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  expect(faults).toEqual([]);
  expect(assistant.reported).toEqual([]);
  await assistant[Symbol.asyncDispose]();
});

async function call(id = "spring") {
  return (await assistant.callTool("delete_link", { id })).structured;
}

async function ask(id?: string): Promise<string> {
  return (await call(id)).error.approval.url;
}

/** A tab of its own on the page; whatever it complains of, or asks others for, is a fault. */
async function open(url: string, options: BrowserContextOptions = sizes.desktop): Promise<Page> {
  const page = await openTab(browser, options);
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

describe.each(Object.entries(sizes))("on a %s", (size, options) => {
  test("the page tells what will happen, and its button lets it happen once", async () => {
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

  test("Decline is a no", async () => {
    const page = await open(await ask(), options);
    expect(await press(page, "Decline")).toBe("Declined");
    expect((await call()).error.code).toBe("approval_declined");
    expect(assistant.writes).toEqual([]);
  });

  test("nothing runs over the edge, and buttons are large enough for a thumb", async () => {
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

  test.each(hostile)("a name with %s is shown as text, and does nothing", async (_, name) => {
    await assistant.plant("link", { path: "hostile", name });
    const { preview, url } = (await call("hostile")).error.approval;
    const page = await open(url, options);

    expect(await readHeading(page)).toBe(preview.split("\n")[0]);
    expect(await readHeading(page)).not.toMatch(/[\u202e\u2066\u200b\u00ad\u2028\u{e0041}]/u);
    expect(await page.title()).toBe("Approve? – Waypost");
    expect(await page.locator("script, img, iframe, h1 *, dd b").count()).toBe(0);
    expect(await page.locator("input").count()).toBe(1);
    expect(await press(page, "Decline")).toBe("Declined");
  });
});

test.each(["light", "dark"] as const)("a %s page can be read", async (colorScheme) => {
  const page = await open(await ask(), { ...sizes.desktop, colorScheme });
  const read = (selector: string, property: "color" | "backgroundColor") =>
    page.evaluate<string>(`getComputedStyle(document.querySelector("${selector}")).${property}`);
  const inks = ["h1", "dt", "dd", ".lead", ".hint", "button[value=decline]"];
  const pairs = inks.map((ink): [string, string] => [ink, "main"]);
  pairs.push(["header", "body"], ["button[value=approve]", "button[value=approve]"]);
  for (const [ink, ground] of pairs) {
    const value = contrast(await read(ink, "color"), await read(ground, "backgroundColor"));
    expect(value, `${ink} on ${ground}`).toBeGreaterThanOrEqual(4.5);
  }
});

test("the page works without any script", async () => {
  const page = await open(await ask(), { ...sizes.phone, javaScriptEnabled: false });
  expect(await press(page, "Delete link")).toBe("Approved");
  expect((await call()).deleted).toBeDefined();
});

describe("by keyboard alone", () => {
  test("the first key reaches the act, the next Decline, and what is reached is seen", async () => {
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

  test("a PIN is typed and sent", async () => {
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
    // Without its PIN the form did not even leave the browser.
    expect(sent).toEqual(["POST"]);
    expect((await callLocked()).deleted).toBeDefined();
  });

  test("a page with a PIN can be declined without it", async () => {
    await using locked = await createPagedWorld({ pin: () => Promise.resolve(false) });
    await locked.plant("link", { path: "spring" });
    const { error } = (await locked.callTool("delete_link", { id: "spring" })).structured;
    const page = await open(error.approval.url);
    expect(await press(page, "Decline")).toBe("Declined");
  });
});

describe("a page of a stranger", () => {
  let stranger: string;
  let html: string;
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "text/html").end(html);
  });

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    // Another origin on the same machine: only the port is another one.
    stranger = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });

  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  /** What the browser itself says about a refusal is no fault of the page. */
  async function visitStranger(): Promise<Page> {
    const page = await openTab(browser, sizes.desktop);
    await page.goto(stranger);
    return page;
  }

  test("shows nothing of it in a frame", async () => {
    const url = await ask();
    for (const frame of [
      `<iframe src="${url}">`,
      `<object data="${url}">`,
      `<embed src="${url}">`,
    ]) {
      html = `<!doctype html><p>Win a prize!</p>${frame}`;
      const page = await openTab(browser, sizes.desktop);
      const isOver = waitForEnd(page, url);
      await page.goto(stranger);
      await isOver;
      // What was refused may be taken out of the page again.
      const texts = await Promise.all(
        page.frames().map((inner) => readText(inner).catch(() => "refused")),
      );
      expect(texts.join("\n")).toContain("Win a prize!");
      expect(texts.join("\n")).not.toContain("Spring");
      expect(texts.join("\n")).not.toContain("Delete link");
    }
    expect(await ask()).toBe(url);
  });

  test("cannot press its buttons, nor read the token that it would need", async () => {
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

  test("under another name for this machine is sent away", async () => {
    const url = await ask();
    html = `<form method="post" action="${url}"><button>Go</button></form>`;
    const page = await openTab(browser, sizes.desktop);
    // A name that a stranger made point here, as in DNS rebinding.
    await page.goto(stranger.replace("127.0.0.1", "rebound.localhost"));
    await page.getByRole("button").click();
    await page.getByRole("heading").waitFor();
    expect(await readHeading(page)).toBe("Wrong address");
    await page.goto(url.replace("127.0.0.1", "rebound.localhost"));
    expect(await readHeading(page)).toBe("Wrong address");
  });
});

/** Until the address was asked for, and what came of it was taken or refused. */
function waitForEnd(page: Page, url: string): Promise<void> {
  return new Promise((resolve) => {
    for (const end of ["requestfinished", "requestfailed"] as const) {
      // One method for both names, which its types do not have.
      page.on(end as "requestfinished", (request) => request.url() === url && resolve());
    }
  });
}

async function readText(frame: Frame): Promise<string> {
  // One that is taken out of its page is never loaded, or has nothing to ask: it shows nothing.
  const timeout = 10_000;
  await frame.waitForLoadState("load", { timeout });
  return frame.locator("body").innerText({ timeout });
}

describe("a person who comes late", () => {
  test("is told that it expired", async () => {
    const page = await open(await ask());
    assistant.advance(5 * 60_000);
    faults = [];
    expect(await press(page, "Delete link")).toBe("This approval has expired");
    expect((await call()).error.code).toBe("approval_required");
    expect(faults.splice(0)).toEqual([expect.stringContaining("404")]);
  });

  test("is told what was said in another tab", async () => {
    const url = await ask();
    const [first, second] = [await open(url), await open(url)];
    expect(await press(first, "Decline")).toBe("Declined");
    expect(await press(second, "Delete link")).toBe("Declined");
    expect((await call()).error.code).toBe("approval_declined");
  });
});

/** Deletes a link, with a press in the browser between the two calls; answers the address. */
async function approveOne(client: Connected, heading = 'Delete the link "Spring"') {
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
  test("over stdio before one elsewhere opens a server for it, and closes it", async () => {
    await using folder = await createFolder();
    await using elsewhere = await createFolder();
    await using server = await startServe(elsewhere.path);
    const env = { WAYPOST_BASE_URL: server.places.url, WAYPOST_API_KEY: server.key };
    await using client = await connectV2({ transport: "stdio", data: folder.path, env });
    const url = await approveOne(client, 'Delete the link "Spring" permanently');
    expect(url).not.toContain(server.places.url);
    expect(new URL(url).hostname).toBe("127.0.0.1");
    // It says goodbye for two seconds.
    const isOpen = () =>
      fetch(url).then(
        () => true,
        () => false,
      );
    await waitUntil(async () => !(await isOpen()));
  });

  test("over stdio that may not listen says what to run, and has its page there", async () => {
    await using folder = await createFolder();
    const env = { WAYPOST_SERVE: "off" };
    await using client = await connectV2({ transport: "stdio", data: folder.path, env });
    await client.callTool("create_link", { path: "spring", name: "Spring" });
    const refused = (await client.callTool("delete_link", { id: "spring" })).structured.error;
    expect(refused).toMatchObject({ code: "approval_required", effect: "none", retry: "later" });
    expect(refused.message).toContain("WAYPOST_SERVE is off");
    expect(refused.next).toContain(`serve --data ${folder.path}\``);
    expect(refused.approval).not.toHaveProperty("url");
    // The question waits, and whoever serves shows it.
    await using server = await startServe(folder.path);
    const asked = (await client.callTool("delete_link", { id: "spring" })).structured.error;
    expect(asked.approval.url).toMatch(new RegExp(`^${server.places.url}/approve/`));
    expect(await press(await open(asked.approval.url), "Delete link")).toBe("Approved");
    const done = await client.callTool("delete_link", { id: "spring" });
    expect(done.structured.deleted.path).toBe("spring");
  });

  test("as a server has the page on its own port", async () => {
    await using folder = await createFolder();
    await using server = await startServe(folder.path);
    const { places, key } = server;
    await using client = await connectV1({ transport: "http", url: places.mcp, token: key });
    expect(await approveOne(client)).toMatch(new RegExp(`^${places.url}/approve/`));
  });
});

/** WCAG's contrast of two colours, as `rgb(…)` names them. */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [one, other].map(luminance).toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const parts = [...colour.matchAll(/\d+/g)].slice(0, 3).map(([part]) => Number(part) / 255);
  const [red = 0, green = 0, blue = 0] = parts.map((part) =>
    part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
