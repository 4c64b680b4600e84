import type { Page } from "playwright-core";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { pages } from "../../src/console/console.ts";
import {
  browse,
  type WebTab,
  callTool,
  hostile,
  plantConsole,
  type ConsoleSample,
} from "../support/console.ts";
import {
  openLastingTab,
  openTab,
  openConsole,
  pressEnter,
  tabTo,
  type ConsoleTab,
  lookAtPage,
  sizes,
} from "../support/browser.ts";
import { createServed, type OwnServer } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";
import { waitUntil } from "../support/clock.ts";

/** Rules for every page of the console: layout, security headers, addresses, hostile names. */

/** Walks a page with Tab: each control gets a visible focus, in document order. */
async function walkPage(page: Page): Promise<void> {
  const all = await page.evaluate<readonly string[]>(begin);
  const reached: number[] = [0];
  const unseen: string[] = [];
  // A frame keeps the focus until the last control in it.
  for (let turn = 0; turn < all.length + mostInFrames; turn += 1) {
    if (reached.at(-1) === all.length - 1) break;
    await page.keyboard.press("Tab");
    const { at, isSeen, isOfChoice, isOfDate } = await page.evaluate<Step>(look);
    if (isOfChoice) continue;
    // No script can look at the parts of a date field. The field itself was checked.
    if (isOfDate && at === reached.at(-1)) continue;
    if (at !== reached.at(-1)) reached.push(at);
    if (!isSeen) unseen.push(all[at] ?? "nothing on the page");
  }
  expect(reached.map((at) => all[at])).toEqual(all);
  expect(unseen).toEqual([]);
}

type Step = {
  readonly at: number;
  readonly isSeen: boolean;
  /** A radio button. Only its label is visible. */
  readonly isOfChoice: boolean;
  /** A date field. The browser focuses its parts one by one. */
  readonly isOfDate: boolean;
};

const mostInFrames = 40;

/** Lists the controls. Radio buttons are left out, as Tab reaches only one of a group. */
const begin = `(() => {
  const kinds = "a[href], button, input, select, textarea, summary, iframe, [tabindex]";
  window.walked = [...document.querySelectorAll(kinds)].filter((element) =>
    element.tabIndex >= 0 && !element.disabled && element.type !== "radio" &&
    element.checkVisibility({ visibilityProperty: true }));
  window.walked[0]?.focus();
  return window.walked.map((element) =>
    element.outerHTML.replace(/value="[^"]*"/, "").replace(/\\s+/g, " ").slice(0, 120));
})()`;

/** Checks that the focused control has an outline, is on the screen and is not covered. */
const look = `(() => {
  const element = document.activeElement;
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const [first] = element.getClientRects();
  const [x, y] = first ? [first.left + first.width / 2, first.top + first.height / 2] : [0, 0];
  const above = document.elementFromPoint(x, y);
  const isFree = above === null || element.contains(above) || above.contains(element);
  const isThere = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
  const isMarked = [element, element.parentElement].some((each) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(each);
    return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  });
  const isFrame = element.localName === "iframe";
  return {
    at: window.walked.indexOf(element),
    isSeen: isFrame || (isMarked && isThere && isFree),
    isOfChoice: element.type === "radio",
    isOfDate: element.type === "date",
  };
})()`;

/** The path below which a proxy serves the console. */
const base = "/team/waypost";

type SampleRecords = ConsoleSample & PlanAndJob;
type Write = (sample: SampleRecords) => string;
type PageUser = "owner" | "master";

/** A page that is missing here fails a test below. */
const shown: Readonly<Record<string, Write>> = {
  start: () => "/",
  links: () => "/links",
  "links, searched and filtered": () =>
    `/links?search=${encodeURIComponent('"><script>')}&filter=clicks+gteq+0&sort=name`,
  "an empty list of links": () => "/links?search=nothing-is-called-so",
  "a new link": () => "/links/new",
  "deleted links and apps": () => "/deleted",
  history: () => "/history",
  "a link": ({ link }) => `/links/${link}`,
  apps: () => "/apps",
  "the second page of apps": () => "/apps?android=2",
  "a new app": () => "/apps/android/new",
  "a new iOS app": () => "/apps/ios/new",
  "an app": ({ app }) => `/apps/ios/${app}`,
  "the domain": () => "/domain",
  keys: () => "/keys",
  "a new key": () => "/keys/new",
  webhooks: () => "/webhooks",
  "a new webhook": () => "/webhooks/new",
  "a webhook": ({ webhook }) => `/webhooks/${webhook}`,
  settings: () => "/settings",
  help: () => "/help",
  "a help page": () => "/help/glossary",
  "help about the API": () => "/help/api",
  "help about one API topic": () => "/help/api/links",
  "the page template": () => "/template",
  "an import": () => "/links/import",
  "a plan": ({ plan }) => `/plans/${plan}`,
  jobs: () => "/jobs",
  "a job": ({ job }) => `/jobs/${job}`,
  "the audit": () => "/audit",
  statistics: () => "/statistics?days=7",
};
const forMaster: Readonly<Record<string, Write>> = {
  "start with a master key": () => "/",
  projects: () => "/projects",
  "a new project": () => "/projects/new",
  "a project": ({ project }) => `/projects/${project}`,
  "settings with a master key": () => "/settings",
};
/** Addresses that return something other than a page of their own. */
const beside: Readonly<Record<string, Write>> = {
  "a QR code image": ({ link }) => `/links/${link}/qr.png`,
  "several selected links": () => "/links/several",
  "a job's cancellation": ({ job }) => `/jobs/${job}/cancel`,
  "the undo of a job": ({ job }) => `/jobs/${job}/undo`,
  "the undo of a change": () => "/history/undo",
  "a link's page in its frame": ({ link }) => `/links/${link}/page`,
  "the preview of an unsaved link": ({ link }) => `/links/${link}/draft`,
  "a template's page in its frame": () => "/template/page/none",
  "a link's deletion": ({ link }) => `/links/${link}/delete`,
  "an app's deletion": ({ app }) => `/apps/ios/${app}/delete`,
  "an Android app's deletion": ({ app }) => `/apps/android/${app}/delete`,
  "a key's revocation": ({ key }) => `/keys/${key}/revoke`,
  "a new client key": () => "/keys/client",
  "a client key's revocation": ({ key }) => `/keys/client/${key}/revoke`,
  "a project's settings": ({ project }) => `/projects/${project}/settings`,
  "a project's deletion": ({ project }) => `/projects/${project}/delete`,
};
const missing: Readonly<Record<string, Write>> = {
  "an unknown path": () => "/nowhere",
  "a missing link": () => "/links/019bc1a2-3d4e-7f00-8a1b-2c3d4e5f6071",
  "a missing Android app": () => "/apps/android/019bc1a2-3d4e-7f00-8a1b-2c3d4e5f6071",
};
const showsPages: ReadonlySet<string> = new Set(["a link", "a new link", "the page template"]);
/** Headings that only a script draws. */
const drawn: Readonly<Record<string, string>> = { "a new link": "Preview" };
const all = { ...shown, ...forMaster, ...missing };
const readWho = (name: string): PageUser => (name in forMaster ? "master" : "owner");

let served: OwnServer;
let sample: SampleRecords;
/** Clients with a browser, with plain requests, and with a browser without scripts. */
let tabs: Readonly<Record<PageUser, ConsoleTab>>;
let plain: Readonly<Record<PageUser, WebTab>>;
let bare: Readonly<Record<PageUser, ConsoleTab>>;
let tab: ConsoleTab;
let page: Page;

const env = { WAYPOST_CONSOLE_PATH: base };
openForAll(
  () => createServed([], { env }),
  async (opened) => {
    served = opened;
    const planted = await plantConsole(served);
    const { places, key } = served.serving;
    const open = async (secret: string) => {
      const opened = browse(places.url);
      await opened.open("/sign-in");
      await opened.submit({ key: secret });
      return opened;
    };
    const look = (secret: string, javaScriptEnabled = true) =>
      openConsole({ places, key: secret }, { javaScriptEnabled, open: openLastingTab });
    const { master } = planted;
    tabs = { owner: await look(key), master: await look(master) };
    bare = { owner: await look(key, false), master: await look(master, false) };
    plain = { owner: await open(key), master: await open(master) };
    sample = { ...planted, ...(await plantPlans(plain.owner)) };
    tab = tabs.owner;
    page = tab.page;
  },
);
afterAll(async () => {
  for (const { page } of [tabs, bare].flatMap(Object.values<ConsoleTab>)) {
    await page.context().close();
  }
});

type PlanAndJob = { readonly plan: string; readonly job: string };

async function plantPlans(tab: WebTab): Promise<PlanAndJob> {
  await tab.open(`${base}/plans/${await plan("applied")}`);
  const { path } = await tab.submit({});
  await waitUntil(async () => />\s*Done\s*</.test((await tab.open(path)).text));
  return { plan: await plan("planned"), job: path.split("/").at(-1) ?? "" };
}

async function plan(path: string): Promise<string> {
  const rows = [{ path, name: hostile, url: "https://example.com/planned" }];
  const made = await callTool(served.serving, "plan_links", { operation: "upsert", rows });
  return made.plan.id;
}

function writeAddress(write: Write): string {
  return base + write(sample);
}

async function go(write: Write, to = page): Promise<void> {
  await to.goto(served.serving.places.url + writeAddress(write));
  const isDrawn = to === page && (await to.locator(".drawn").count()) > 0;
  if (isDrawn) await to.locator(".drawn .device:not(.coming)").first().waitFor();
}

test("the list of pages in this test contains every page of the console", () => {
  const paths = Object.values({ ...all, ...beside }).map((write) => write(sample).split("?")[0]);
  const found = new Set(paths.map((path = "") => pages.find((each) => each.path.test(path))));
  expect(pages.filter((each) => !found.has(each)).map(({ path }) => path)).toEqual([]);
});

describe.each(Object.entries(all))('the console page "%s"', (name, write) => {
  const who = readWho(name);
  beforeEach(() => {
    tab = tabs[who];
    page = tab.page;
  });
  afterAll(() => {
    tab = tabs.owner;
    page = tab.page;
  });

  test("passes axe, fits each screen, and works without a mouse or scripts", async () => {
    tab.takeComplaints();
    await page.setViewportSize(sizes.desktop);
    await go(write);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const headings = (await readHeadings(page)).filter((text) => text !== drawn[name]);
    await lookAtPage(page, name);
    await page.emulateMedia({ reducedMotion: "reduce" });
    expect(await page.evaluate(countMoving)).toBe(0);
    await page.emulateMedia({ reducedMotion: null });
    await expectHarmless(page);
    await page.setViewportSize(sizes.phone);
    await walkPage(page);
    const isExpected = (text: string) => name in missing && / 404 /.test(text);
    expect(tab.takeComplaints().filter((text) => !isExpected(text))).toEqual([]);

    const { page: other } = bare[who];
    await go(write, other);
    expect(await readHeadings(other)).toEqual(headings);
    const forms = other.locator("main form");
    for (let turn = 0; turn < (await forms.count()); turn += 1) {
      const button = forms.nth(turn).locator("button:not([type=button])");
      expect(await button.count()).toBeGreaterThan(0);
    }
  });

  test("loads only the console's own resources and cannot be framed", async () => {
    const { headers, status } = await plain[who].open(writeAddress(write));
    expect(status).toBe(name in missing ? 404 : 200);
    const policy = String(headers["content-security-policy"]).replace(/nonce-[\w+/=]+/g, "nonce");
    const frames = showsPages.has(name) ? "frame-src 'self'; " : "";
    expect(policy).toBe(
      "default-src 'none'; script-src 'nonce'; style-src 'nonce'; img-src 'self' data:; " +
        `connect-src 'self'; ${frames}form-action 'self'; frame-ancestors 'none'; ` +
        "base-uri 'none'",
    );
    expect(headers).toMatchObject({
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      "referrer-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
    });
  });

  test("requires a session, and rejects forms from another site", async () => {
    const stranger = browse(served.serving.places.url);
    const address = writeAddress(write);
    const { headers, path, text } = await stranger.open(address);
    expect(path).toMatch(/^\/sign-in/);
    expect(headers["content-security-policy"]).toMatch(
      /^default-src 'none'.*frame-ancestors 'none'/,
    );
    expect(text).not.toContain("week");
    const foreign = { origin: "https://evil.example" };
    expect((await plain[who].post(address, {}, foreign)).status).toBe(403);
  });
});

/** Addresses of the server that the console's pages contain. */
const ofServer = /^\/(?:sign-in$|sign-in\/files\/|approve\/)/;

test.each(Object.entries({ ...all, ...beside }))(
  'every URL on the page "%s" is below the base path',
  async (name, write) => {
    const who = readWho(name);
    const { path, text } = await plain[who].open(writeAddress(write));
    expect(path).toMatch(new RegExp(`^${base}/`));
    const found = [...text.matchAll(/\s(?!value|nonce)[\w-]+="(\/[^"]*)"/g)].map(
      ([, address = ""]) => address,
    );
    const outside = found.filter((address) => !address.startsWith(`${base}/`));
    expect(outside.filter((address) => !ofServer.test(address))).toEqual([]);
  },
);

test("a confirmation page passes axe and can be used with only the keyboard", async () => {
  await go(({ link }) => `/links/${link}`);
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("heading", { name: /^Delete/ }).waitFor();
  await lookAtPage(page, "question");
  await page.setViewportSize(sizes.phone);
  await walkPage(page);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
});

describe("the console's menu on a phone", () => {
  test("passes axe", async () => {
    await page.setViewportSize(sizes.phone);
    await go(() => "/");
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor();
    await lookAtPage(page, "menu");
  });

  test.each([true, false])("links to every page (JavaScript enabled: %s)", async (isScripted) => {
    const options = { viewport: sizes.phone, javaScriptEnabled: isScripted };
    const { page: phone } = await openConsole(served.serving, options);
    const menu = phone.getByRole("navigation", { name: "Pages", exact: true });
    expect(await menu.isVisible()).toBe(false);
    await tabTo(phone, /^Menu$/);
    await phone.keyboard.press("Enter");
    await menu.waitFor();
    const named = pages.flatMap(({ entry }) => entry?.name ?? []);
    const there = await menu.getByRole("link").allInnerTexts();
    // Projects need a master key.
    const wanted = named.filter((name) => name !== "Projects");
    expect(there.map((text) => text.trim()).toSorted()).toEqual(wanted.toSorted());
    expect(await menu.locator("[aria-current=page]").innerText()).toBe("Start");
    await phone.keyboard.press("Escape");
    await menu.waitFor({ state: "hidden" });
    await phone.keyboard.press("Enter");
    await tabTo(phone, /^Links$/);
    await pressEnter(phone);
    expect(new URL(phone.url()).pathname).toBe(`${base}/links`);
    await phone.context().close();
  });
});

/** Pages with a form that was filled in when the session ended. */
const interrupted: string[] = [];

/** Input in the first form of a page is kept across a new sign-in. */
test.each(Object.entries(shown))(
  'the form on the page "%s" keeps its input when the session ends',
  async (name, write) => {
    const { text } = await plain.owner.open(writeAddress(write));
    if (!hasTextField(text)) return;
    interrupted.push(name);
    await page.setViewportSize(sizes.desktop);
    await go(write);
    const typed = `"before" </textarea><script>window.hacked=1</script> ${hostile.slice(0, 40)}`;
    await page.evaluate(`(() => {
    const isText = ({ type }) => ["text", "textarea"].includes(type);
    const form = [...document.querySelectorAll("main form[method=post]")].find((each) =>
      [...each.elements].some(isText));
    [...form.elements].find(isText).value = ${JSON.stringify(typed)};
    form.noValidate = true;
    form.id = "typed-into";
  })()`);
    await page.context().clearCookies();
    const sent = page.waitForEvent("load");
    await page.evaluate("document.getElementById('typed-into').requestSubmit()");
    await sent;
    await page.getByText("Your session has ended.").waitFor();
    await page.locator("#key:focus").waitFor();
    await page.keyboard.type(served.serving.key);
    await pressEnter(page);
    const values = await page.evaluate<readonly string[]>(
      "[...document.querySelectorAll('main input, main textarea')].map(({ value }) => value)",
    );
    expect(values).toContain(typed);
    expect(await page.evaluate("window.hacked")).toBeUndefined();
  },
);

test("more than five pages have a form whose input must be kept", () => {
  expect(interrupted.length).toBeGreaterThan(5);
});

/** Whether the page has a form with a text field, so that only such pages need the browser. */
function hasTextField(text: string): boolean {
  const forms = text.match(/<form[^>]*method="post"[^]*?<\/form>/g) ?? [];
  return forms.some((form) => /<textarea|<input(?![^>]*type=)|type="(?:text|url)"/.test(form));
}

test("the approval page has no script and can be used with only the keyboard", async () => {
  const asked = await openTab({ viewport: sizes.phone });
  await asked.goto(sample.approval);
  expect(await asked.locator("script").count()).toBe(0);
  await walkPage(asked);
});

async function expectHarmless(page: Page): Promise<void> {
  expect(await page.evaluate("window.hacked")).toBeUndefined();
  const strange = "main script, main style, main [src=x], main [onerror], main [onclick]";
  expect(await page.locator(strange).count()).toBe(0);
  // An invisible character is shown, because it reverses the text after it.
  const seen = await page.evaluate<string>("document.querySelector('main').innerText");
  expect(seen).not.toContain("\u202e");
}

const readHeadings = (page: Page) => page.getByRole("heading").allInnerTexts();

const countMoving = `[...document.querySelectorAll("*")].filter((element) => {
  const { transitionDuration, animationName } = getComputedStyle(element);
  return animationName !== "none" || !/^0s(, 0s)*$/.test(transitionDuration);
}).length`;
