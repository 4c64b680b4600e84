import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import {
  browse,
  type Browsing,
  type Shown,
  callTool,
  readFormToken,
  signInAt,
} from "../support/console.ts";
import { createServed, type Served } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";
import { createScribbler, fillConsole, type Filled } from "./fill-console.ts";

/** What the console's pages weigh on the network, and what their weight must not tell. */

const scribble = createScribbler();
let served: Served;
let tab: Browsing;
let filled: Filled;
let master: Browsing;

openForAll(createServed, async (opened) => {
  served = opened;
  tab = await signInAt(served.serving);
  filled = await fillConsole(served, tab);
  master = await signInAt(served.serving, filled.master);
});

/** As a browser says that a person, or a page of the console, has asked for it. */
const packed = { "accept-encoding": "gzip, deflate", "sec-fetch-site": "same-origin" };

test("a page is sent packed to browsers that unpack it", async () => {
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
  "for another site's page nothing is packed, so that no size tells it anything: %s",
  async (site) => {
    const from = { "accept-encoding": "gzip", ...(site && { "sec-fetch-site": site }) };
    expect((await tab.open("/links", from)).headers["content-encoding"]).toBeUndefined();
  },
);

test("what a form has against other sites is written anew on each page, and is good", async () => {
  const tokens = [await readFormToken(tab), await readFormToken(tab)];
  expect(new Set(tokens).size).toBe(2);
  for (const [turn, form_token] of tokens.entries()) {
    const typed = { path: `made-${turn}`, url: "https://example.com/" };
    const made = await tab.post("/links/new", { form_token, ...typed });
    expect(made.path).toMatch(/^\/links\/[\w-]+\?done=created/);
  }
});

/** Each as full as it can be, with what a browser loads for it. */
const full: Readonly<Record<string, (filled: Filled) => string>> = {
  start: () => "/",
  links: () => "/links",
  "a link with as much in each field as it takes": ({ link }) => `/links/${link}`,
  "a new link, of more apps than are listed": () => "/links/new",
  "deleted links and apps": () => "/deleted",
  apps: () => "/apps",
  "an app": ({ app }) => `/apps/ios/${app}`,
  "keys, and those of clients": () => "/keys",
  "further keys of clients": () => "/keys?client=2",
  webhooks: () => "/webhooks",
  "a webhook of the longest address": ({ webhook }) => `/webhooks/${webhook}`,
  "a new key": () => "/keys/new",
  "a plan of a thousand rows": ({ plan }) => `/plans/${plan}`,
  "a plan of the longest rows": ({ long }) => `/plans/${long}`,
  "one of the longest rows": ({ long }) => `/plans/${long}?row=0`,
  "a plan that deletes": ({ deletion }) => `/plans/${deletion}`,
  "a plan of a thousand faults": ({ faulty }) => `/plans/${faulty}`,
  "a job": ({ job }) => `/jobs/${job}?rows=all`,
  jobs: () => "/jobs",
  "what an assistant waits for": ({ waiting }) => `/waiting/${waiting}`,
  history: () => "/history",
  "the audit": () => "/audit?look=1",
  settings: () => "/settings",
};

describe("of a project in which all is long and much, 60 KB at most are sent, 12 of script", () => {
  test.each(Object.entries(full))("for %s", async (_, write) => {
    await expectLight(await tab.open(write(filled), packed));
  });

  test.each([
    ["projects", () => "/projects"],
    ["a project", ({ project }: Filled) => `/projects/${project}`],
    ["start", () => "/"],
  ])("for a master's %s", async (_, write) => {
    await expectLight(await master.open(write(filled), packed));
  });

  test("for a template of the largest size in the editor, beside its text", async () => {
    const { bytes, text } = await tab.open("/template", packed);
    const fields = [...text.matchAll(/<textarea[^>]*>([^]*?)<\/textarea>/g)].join("");
    expect(fields.length).toBeGreaterThan(90_000);
    expect(bytes - gzipSync(fields).byteLength).toBeLessThan(20_000);
  });

  test("for several links of the longest paths", async () => {
    const { text } = await tab.open("/links");
    const form = new URLSearchParams({ form_token: await readFormToken(tab), way: "" });
    for (const [, path = ""] of text.matchAll(/name="path" value="([^"]+)"/g)) {
      form.append("path", path);
    }
    expect(form.getAll("path")).toHaveLength(20);
    await expectLight(await tab.postForm("/links/several", form, packed));
  });
});

describe("of what an assistant asks", () => {
  const asks: Readonly<Record<string, () => Promise<readonly [string, object]>>> = {
    "its deletion": async () => ["delete_link", { id: filled.link }],
    "an app's deletion": async () => ["delete_ios_app", { id: filled.app }],
    "a plan of the longest rows": async () => {
      const filters = [{ field: "path", condition: "start", value: "week-" }];
      const args = { operation: "update", filters, changes: writeFields() };
      return ["apply_plan", { plan_id: (await call("plan_links", args)).plan.id }];
    },
  };
  test.each(Object.entries(asks))("60 KB at most are sent for %s", async (_, ask) => {
    const { error } = await call(...(await ask()));
    expect(error?.code, JSON.stringify(error)?.slice(0, 400)).toBe("approval_required");
    const { pathname } = new URL(error.approval.url);
    const shown = await tab.open(pathname, packed);
    expect([shown.status, shown.headers["content-encoding"]]).toEqual([200, "gzip"]);
    expect(shown.bytes).toBeLessThan(60_000);
  });

  test("as much in each field as it takes is shown to its end", async () => {
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

/** With as much in each field as it takes, and leading elsewhere. */
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

/** With all that a browser loads for it. */
async function expectLight({ bytes, text, status }: Shown): Promise<void> {
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
  // Frames that are not seen are not loaded.
  const frame = await weigh(/<iframe\s+src="([^"]+)"/g, 1);
  const all = bytes + script + style + frame;
  expect(text).not.toMatch(/<img[^>]* src="\//);
  expect(script).toBeGreaterThan(0);
  expect(script).toBeLessThan(12_000);
  expect(all).toBeLessThan(60_000);
}
