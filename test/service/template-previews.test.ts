import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { starter } from "../../src/template/starter.ts";
import { createWorld, type Given, type World } from "../support/world.ts";

/** A preview renders what would be seen, and leaves no trace. */

const body = "<h1>{{ link.name }} in {{ project.name }}</h1>{% store_buttons %}";
const css = "h1{color:red}";

let world: World;

beforeEach(async () => {
  world = await createWorld();
});
afterEach(async () => {
  expect(world.reported).toEqual([]);
  await world[Symbol.asyncDispose]();
});

const preview = (fields?: object, given: Given = {}) =>
  world.call("POST", "/page_template/preview", { ...(fields && { body: fields }), ...given });

test("is a page of its own, which no cache keeps and no frame can use", async () => {
  const { status, headers, text } = await preview({ body, css });
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; .*sandbox/);
  expect(text).toMatch(/^<!doctype html>\n<html lang="en">/);
  expect(text).toContain("<h1>Spring sale in Default</h1>");
  expect(text).toContain(css);
  expect((await world.call("GET", "/page_template/versions")).status).toBe(404);
});

test("without anything it shows the starter template, until there is a draft", async () => {
  expect((await preview()).text).toContain(starter.css);
  expect((await preview({})).text).toContain('<div class="store-buttons">');
  await world.call("PATCH", "/page_template", { body: { css: "h2{top:0}" } });
  expect((await preview()).text).toContain(starter.css);
  await world.call("PATCH", "/page_template", { body: { body, css } });
  const { text } = await preview();
  expect([text.includes(css), text.includes(starter.css)]).toEqual([true, false]);
});

test("takes what is left out from the draft", async () => {
  await world.call("PATCH", "/page_template", { body: { body, css } });
  const painted = await preview({ css: "h1{color:blue}" });
  expect(painted.text).toContain("<h1>Spring sale in Default</h1>");
  expect(painted.text).toContain("h1{color:blue}");
  const rewritten = await preview({ body: "<h2>x</h2>{% store_buttons %}" });
  expect(rewritten.text).toContain(css);
  expect((await preview({ css: "" })).text).not.toContain("color:red");
});

test("refuses what could not be saved, each fault with its place", async () => {
  const reply = await preview({ body: "<script>x</script>", css: "a{behavior:x}" });
  expect(reply.status).toBe(422);
  expect(reply.body.problems).toMatchObject([
    { field: "body", line: 1, column: 1 },
    { field: "body", line: 1, column: 1 },
    { field: "css", line: 1, column: 3 },
  ]);
  const nulled = await preview({ body: null });
  expect([nulled.status, nulled.body]).toEqual([422, { error: "Body must be a string" }]);
});

describe("of a link", () => {
  const ios_app = {
    bundle_id: "com.shop",
    team_id: "TEAM000001",
    app_store_id: "123",
    name: "Shop",
    custom_scheme: "shop",
  };
  const android_app = { package_name: "com.shop", fingerprints: ["AA:BB"], name: "Shop" };

  test("shows its own texts and ways, and never redirects", async () => {
    await world.call("POST", "/ios_apps", { body: { ios_app } });
    await world.call("POST", "/android_apps", { body: { android_app } });
    const link = await world.call("POST", "/links", {
      body: {
        path: "summer",
        name: "Summer <b>",
        url: "https://www.example.com/summer",
        enable_forced_redirect: true,
        ios_app: { bundle_id: "com.shop" },
        android_app: { package_name: "com.shop" },
      },
    });
    const ask = async (agent: string) => {
      const given = { headers: { "user-agent": agent } };
      const { status, text } = await preview({ body, link_id: link.body.id }, given);
      expect([status, text.includes("Summer &lt;b&gt; in Default")]).toEqual([200, true]);
      return [...text.matchAll(/<a class="store-button[^"]*" href="([^"]*)"/g)].map(([, to]) => to);
    };
    const phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)";
    expect(await ask(phone)).toEqual(["shop://summer", "https://apps.apple.com/app/id123"]);
    expect(await ask("")).toEqual(await ask(phone));
    const [open, store] = await ask("Mozilla/5.0 (Linux; Android 15; Pixel 9)");
    expect(open).toMatch(/^intent:\/\/.*package=com\.shop;/);
    expect(store).toBe("https://play.google.com/store/apps/details?id=com.shop");
    const desktop = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)";
    expect(await ask(desktop)).toEqual(["https://www.example.com/summer"]);
    expect((await world.call("GET", `/links/${link.body.id}`)).body.clicks).toBe(0);
  });

  test("needs the scope links.show beside its own", async () => {
    const link = (await world.call("POST", "/links", { body: { path: "a" } })).body;
    const lone = await world.addKey({ scopes: ["page_templates.show"] });
    const both = await world.addKey({ scopes: ["page_templates.show", "links.show"] });
    expect((await preview({ body }, { key: lone })).status).toBe(200);
    const refused = await preview({ body, link_id: link.id }, { key: lone });
    const error = messages.scope_missing("links.show");
    expect([refused.status, refused.body]).toEqual([401, { error }]);
    expect((await preview({ body, link_id: link.id }, { key: both })).status).toBe(200);
  });

  test("that is not the project's is not found", async () => {
    const key = await world.addKey({ project: await world.addProject() });
    const theirs = (await world.call("POST", "/links", { key, body: { path: "a" } })).body;
    for (const link_id of [theirs.id, "0190a000-0000-7000-8000-000000000000", "a", ""]) {
      const reply = await preview({ body, link_id });
      expect([reply.status, reply.body]).toEqual([404, { error: messages.link_not_found }]);
    }
  });
});

test("the page's nonce is another each time", async () => {
  const nonces = new Set<string | undefined>();
  for (let turn = 0; turn < 5; turn += 1) {
    const { headers, text } = await preview({ body });
    const [, nonce] = /'nonce-([^']+)'/.exec(headers.get("content-security-policy") ?? "") ?? [];
    expect(text).toContain(`<style nonce="${nonce}">`);
    nonces.add(nonce);
  }
  expect(nonces.size).toBe(5);
});
