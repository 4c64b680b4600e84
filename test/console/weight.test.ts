import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import {
  browse,
  type WebTab,
  type ConsoleResponse,
  callTool,
  readFormToken,
  signInAt,
} from "../support/console.ts";
import { createServed, type OwnServer } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";
import { createScribbler, fillConsole, type ConsoleIds } from "./fill-console.ts";

/** The size of the console's pages on the network, and what it must not reveal. */

const scribble = createScribbler();
let served: OwnServer;
let tab: WebTab;
let filled: ConsoleIds;
let master: WebTab;

openForAll(createServed, async (opened) => {
  served = opened;
  tab = await signInAt(served.serving);
  filled = await fillConsole(served, tab);
  master = await signInAt(served.serving, filled.master);
});

/** Headers of a request from a user or from a page of the console. */
const packed = { "accept-encoding": "gzip, deflate", "sec-fetch-site": "same-origin" };

test("console pages are compressed if the browser accepts gzip", async () => {
  const plain = await tab.open("/links/new");
  expect(plain.headers["content-encoding"]).toBeUndefined();
  const small = await tab.open("/links/new", packed);
  expect(small.headers["content-encoding"]).toBe("gzip");
  expect(small.bytes).toBeLessThan(plain.bytes / 2);
  expect(small.text.length).toBe(plain.text.length);
  expect(small.headers["content-security-policy"]).toContain("default-src 'none'");
  const none = await tab.open("/links/new", { ...packed, "sec-fetch-site": "none" });
  expect(none.headers["content-encoding"]).toBe("gzip");
  const stranger = browse(served.serving.places.url);
  const { headers } = await stranger.open("/sign-in", packed);
  expect(headers).toMatchObject({ "content-encoding": "gzip", "cache-control": "no-store" });
});

test.each(["cross-site", "same-site", undefined])(
  "requests with Sec-Fetch-Site %s get uncompressed console pages",
  async (site) => {
    const from = { "accept-encoding": "gzip", ...(site && { "sec-fetch-site": site }) };
    expect((await tab.open("/links", from)).headers["content-encoding"]).toBeUndefined();
  },
);

test("each console page has a different form token, and all tokens are valid", async () => {
  const tokens = [await readFormToken(tab), await readFormToken(tab)];
  expect(new Set(tokens).size).toBe(2);
  for (const [turn, form_token] of tokens.entries()) {
    const typed = { path: `made-${turn}`, url: "https://example.com/" };
    const made = await tab.post("/links/new", { form_token, ...typed });
    expect(made.path).toMatch(/^\/links\/[\w-]+\?done=created/);
  }
});

const full: Readonly<Record<string, (filled: ConsoleIds) => string>> = {
  start: () => "/",
  links: () => "/links",
  "a link with the longest value in each field": ({ link }) => `/links/${link}`,
  "a new link, with more apps than are listed": () => "/links/new",
  "deleted links and apps": () => "/deleted",
  apps: () => "/apps",
  "an app": ({ app }) => `/apps/ios/${app}`,
  "keys and client keys": () => "/keys",
  "the second page of client keys": () => "/keys?client=2",
  webhooks: () => "/webhooks",
  "a webhook with the longest URL": ({ webhook }) => `/webhooks/${webhook}`,
  "a new key": () => "/keys/new",
  "a plan with a thousand rows": ({ plan }) => `/plans/${plan}`,
  "a plan with the longest rows": ({ long }) => `/plans/${long}`,
  "a plan's row with the longest values": ({ long }) => `/plans/${long}?row=0`,
  "a plan that deletes links": ({ deletion }) => `/plans/${deletion}`,
  "a plan with a thousand invalid rows": ({ faulty }) => `/plans/${faulty}`,
  "a job": ({ job }) => `/jobs/${job}?rows=all`,
  jobs: () => "/jobs",
  history: () => "/history",
  "the audit": () => "/audit?look=1",
  settings: () => "/settings",
  statistics: () => "/statistics?days=7",
  "an import": () => "/links/import",
  "a new webhook": () => "/webhooks/new",
  "the domain": () => "/domain",
  "help about one API topic": () => "/help/api/links",
};

describe("the console of a project with a lot of data", () => {
  test.each(Object.entries(full))(
    'sends at most 60 KB, with at most 12 KB of JavaScript, for the page "%s"',
    async (_, write) => {
      await expectLight(await tab.open(write(filled), packed));
    },
  );

  test.each([
    ["projects", () => "/projects"],
    ["a project", ({ project }: ConsoleIds) => `/projects/${project}`],
    ["start", () => "/"],
  ])(
    'sends a master-key user at most 60 KB, 12 KB of it JavaScript, for the page "%s"',
    async (_, write) => {
      await expectLight(await master.open(write(filled), packed));
    },
  );

  test("sends at most 20 KB for the template editor, excluding the template's text", async () => {
    const { bytes, text } = await tab.open("/template", packed);
    const fields = [...text.matchAll(/<textarea[^>]*>([^]*?)<\/textarea>/g)].join("");
    expect(fields.length).toBeGreaterThan(90_000);
    expect(bytes - gzipSync(fields).byteLength).toBeLessThan(20_000);
  });

  test("sends at most 60 KB, 12 KB of it JavaScript, for a form to change 20 links", async () => {
    const { text } = await tab.open("/links");
    const form = new URLSearchParams({ form_token: await readFormToken(tab), way: "" });
    for (const [, path = ""] of text.matchAll(/name="path" value="([^"]+)"/g)) {
      form.append("path", path);
    }
    expect(form.getAll("path")).toHaveLength(20);
    await expectLight(await tab.postForm("/links/several", form, packed));
  });
});

describe("the approval page of a project with a lot of data", () => {
  const asks: Readonly<Record<string, () => Promise<readonly [string, object]>>> = {
    "a link's deletion": async () => ["delete_link", { id: filled.link }],
    "an app's deletion": async () => ["delete_ios_app", { id: filled.app }],
    "a plan with the longest rows": async () => {
      const filters = [{ field: "path", condition: "start", value: "week-" }];
      const args = { operation: "update", filters, changes: writeFields() };
      return ["apply_plan", { plan_id: (await call("plan_links", args)).plan.id }];
    },
  };
  test.each(Object.entries(asks))("is at most 60 KB for %s", async (_, ask) => {
    const { error } = await call(...(await ask()));
    expect(error?.code, JSON.stringify(error)?.slice(0, 400)).toBe("approval_required");
    const { pathname } = new URL(error.approval.url);
    const shown = await tab.open(pathname, packed);
    expect([shown.status, shown.headers["content-encoding"]]).toEqual([200, "gzip"]);
    expect(shown.bytes).toBeLessThan(60_000);
  });

  test("shows the longest value of each field completely", async () => {
    const fields = writeFields();
    const args = { id: filled.link, ...fields };
    const { error } = await call("update_link", args);
    const { pathname } = new URL(error.approval.url);
    const { text } = await tab.open(pathname);
    const read = text.replace(/<[^>]*>/g, "");
    for (const value of Object.values(fields)) expect(read).toContain(value);
    const done = await tab.submit({ decision: "approve" });
    expect(done.text).toContain("<h1>Approved");
    expect((await call("update_link", args)).link.name).toBe(fields.name);
  });
});

function call(name: string, args: object) {
  return callTool(served.serving, name, args);
}

/** The longest value of each field, with a new destination. */
function writeFields() {
  const start = "https://elsewhere.example/";
  const writeUrl = () => start + scribble(8192 - start.length);
  return {
    name: scribble(500),
    url: writeUrl(),
    ios_fallback_url: writeUrl(),
    android_fallback_url: writeUrl(),
    social_image_url: writeUrl(),
    social_title: scribble(1000),
    social_description: scribble(2000),
  };
}

async function expectLight({ bytes, text, status }: ConsoleResponse): Promise<void> {
  expect(status).toBe(200);
  const weigh = async (pattern: RegExp, most = Number.POSITIVE_INFINITY) => {
    let sum = 0;
    for (const [, at = ""] of [...text.matchAll(pattern)].slice(0, most)) {
      sum += (await tab.open(at.replaceAll("&amp;", "&"), packed)).bytes;
    }
    return sum;
  };
  const script = await weigh(/<script[^>]* src="([^"]+)"/g);
  const style = await weigh(/rel="stylesheet"[^>]* href="([^"]+)"/g);
  // Hidden frames are not loaded.
  const frame = await weigh(/<iframe\s+src="([^"]+)"/g, 1);
  const all = bytes + script + style + frame;
  expect(text).not.toMatch(/<img[^>]* src="\//);
  expect(script).toBeGreaterThan(0);
  expect(script).toBeLessThan(12_000);
  expect(all).toBeLessThan(60_000);
}
