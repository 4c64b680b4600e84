import { describe, expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { starter } from "../../src/template/starter-template.ts";
import { openLinkHost } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type CallInput, type World } from "../support/world.ts";

/** Tests template previews, which show the page like a visit but save nothing. */

const body = "<h1>{{ link.name }} in {{ project.name }}</h1>{% store_buttons %}";
const css = "h1{color:red}";
const phone = "Mozilla/5.0 (Linux; Android 15; Pixel 9)";

let world: World;

openForEach(createWorld, (opened) => (world = opened));

const preview = (fields?: object, given: CallInput = {}) =>
  world.call("POST", "/page_template/preview", { ...(fields && { body: fields }), ...given });

async function show(fields: object): Promise<string> {
  const { status, text } = await preview(fields);
  expect([status, text]).toEqual([200, text]);
  return text;
}

test("a template preview is a complete page that cannot be cached or framed", async () => {
  const { status, headers, text } = await preview({ body, css });
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; .*sandbox/);
  expect(text).toMatch(/^<!doctype html>\n<html lang="en">/);
  expect(text).toContain("<h1>Spring sale: 20% off everything in Default</h1>");
  expect(text).toContain(css);
  expect((await world.call("POST", "/page_template/publish")).status).toBe(404);
});

test("a preview without a submitted template shows the draft or the starter template", async () => {
  expect((await preview()).text).toContain(starter.css);
  expect((await preview({})).text).toContain('<div class="store-buttons">');
  await world.call("PATCH", "/page_template", { body: { css: "h2{top:0}" } });
  expect((await preview()).text).toContain(starter.css);
  await world.call("PATCH", "/page_template", { body: { body, css } });
  const { text } = await preview();
  expect([text.includes(css), text.includes(starter.css)]).toEqual([true, false]);
});

test("a template preview uses the draft's values for omitted fields", async () => {
  await world.call("PATCH", "/page_template", { body: { body, css } });
  const painted = await preview({ css: "h1{color:blue}" });
  expect(painted.text).toContain("<h1>Spring sale: 20% off everything in Default</h1>");
  expect(painted.text).toContain("h1{color:blue}");
  const rewritten = await preview({ body: "<h2>x</h2>{% store_buttons %}" });
  expect(rewritten.text).toContain(css);
  expect((await preview({ css: "" })).text).not.toContain("color:red");
});

test("a template preview reports the position of each problem in the template", async () => {
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

describe("a template preview of a link", () => {
  const ios_app = {
    bundle_id: "com.shop",
    team_id: "TEAM000001",
    app_store_id: "123",
    name: "Shop",
    custom_scheme: "shop",
  };
  const android_app = { package_name: "com.shop", fingerprints: ["AA:BB"], name: "Shop" };

  test("shows the link's texts and buttons for each platform and never redirects", async () => {
    await world.call("POST", "/ios_apps", { body: { ios_app } });
    await world.call("POST", "/android_apps", { body: { android_app } });
    const link = await world.call("POST", "/links", {
      body: {
        path: "summer",
        social_title: "Summer <b>",
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
    const iPhone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)";
    expect(await ask(iPhone)).toEqual(["shop://summer", "https://apps.apple.com/app/id123"]);
    expect(await ask("")).toEqual(await ask(iPhone));
    const [open, store] = await ask(phone);
    expect(open).toMatch(/^intent:\/\/.*package=com\.shop;/);
    expect(store).toBe("https://play.google.com/store/apps/details?id=com.shop");
    const desktop = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)";
    expect(await ask(desktop)).toEqual(["https://www.example.com/summer"]);
    // Only the first 512 characters of a user agent are used.
    expect(await ask(`${desktop.padEnd(512)} ${phone}`)).toEqual(await ask(desktop));
    expect((await world.call("GET", `/links/${link.body.id}`)).body.clicks).toBe(0);
  });

  test("shows how to open the link on a phone if the link has no desktop URL", async () => {
    await world.call("POST", "/ios_apps", { body: { ios_app } });
    const fields = { path: "phones", ios_app: { bundle_id: ios_app.bundle_id } };
    const link = (await world.call("POST", "/links", { body: fields })).body;
    const given = { headers: { "user-agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64)" } };
    const { text } = await preview({ link_id: link.id }, given);
    expect(text).toContain('href="https://apps.apple.com/app/id123"');
    expect(text).toContain('aria-label="QR code of this link"');
    const own = await preview({ body, link_id: link.id }, given);
    expect(own.text).not.toMatch(/<svg|<a /);
  });

  test("contains a script only for deferred linking, and the script sends nothing", async () => {
    await world.call("POST", "/ios_apps", { body: { ios_app } });
    const ask = async (fields: object, agent = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0)") => {
      const posted = { ios_app: { bundle_id: ios_app.bundle_id }, ...fields };
      const link = await world.call("POST", "/links", { body: posted });
      const given = { headers: { "user-agent": agent } };
      const { text, headers } = await preview({ body, link_id: link.body.id }, given);
      const [, script] = /<script nonce="[^"]+">(.*?)<\/script>/.exec(text) ?? [];
      return { script, policy: headers.get("content-security-policy") };
    };
    const deferred = { ios_deferred_deep_linking_enabled: true };
    const { script, policy } = await ask(deferred);
    expect(script).toContain("navigator");
    expect(script).not.toMatch(/fetch|visit|clipboard/);
    expect(policy).toMatch(/script-src 'nonce-/);
    expect(policy).not.toContain("connect-src");
    for (const other of [
      await ask({}),
      await ask(deferred, phone),
      await ask({ ...deferred, enable_forced_redirect: true }),
      await ask({ ...deferred, ios_app: undefined }),
    ]) {
      expect(other.script).toBeUndefined();
      expect(other.policy).not.toContain("script-src");
    }
  });

  test("requires the scope links.show in addition to page_templates.show", async () => {
    const link = (await world.call("POST", "/links", { body: { path: "a" } })).body;
    const lone = await world.addKey({ scopes: ["page_templates.show"] });
    const both = await world.addKey({ scopes: ["page_templates.show", "links.show"] });
    expect((await preview({ body }, { key: lone })).status).toBe(200);
    const refused = await preview({ body, link_id: link.id }, { key: lone });
    const error = messages.scope_missing("links.show");
    expect([refused.status, refused.body]).toEqual([401, { error }]);
    expect((await preview({ body, link_id: link.id }, { key: both })).status).toBe(200);
  });

  test("returns 404 if the link is unknown or in another project", async () => {
    const key = await world.addKey({ project: await world.addProject() });
    const theirs = (await world.call("POST", "/links", { key, body: { path: "a" } })).body;
    for (const link_id of [theirs.id, "0190a000-0000-7000-8000-000000000000", "a", ""]) {
      const reply = await preview({ body, link_id });
      expect([reply.status, reply.body]).toEqual([404, { error: messages.link_not_found }]);
    }
  });
});

test("every template preview has a new CSP nonce", async () => {
  const nonces = new Set<string | undefined>();
  for (let turn = 0; turn < 5; turn += 1) {
    const { headers, text } = await preview({ body });
    const [, nonce] = /'nonce-([^']+)'/.exec(headers.get("content-security-policy") ?? "") ?? [];
    expect(text).toContain(`<style nonce="${nonce}">`);
    nonces.add(nonce);
  }
  expect(nonces.size).toBe(5);
});

test.each([false, true])(
  "a template preview has the same buttons as the link page (link_in_referrer: %s)",
  async (isLink) => {
    await using host = await openLinkHost();
    const { world: hosted } = host;
    const project = await hosted.addProject({ link_in_referrer: isLink });
    const key = await hosted.addKey({ project });
    const android_app = {
      package_name: "com.shop",
      fingerprints: ["AA:BB"],
      custom_scheme: "shop",
    };
    const app = await hosted.call("POST", "/android_apps", { key, body: { android_app } });
    const fields = {
      path: "a b",
      referrer: "utm_source=x",
      android_app: { package_name: "com.shop" },
    };
    const link = await hosted.call("POST", "/links", { key, body: fields });
    expect([app.body, link.body]).toMatchObject([
      { id: expect.any(String) },
      { id: expect.any(String) },
    ]);
    const shown = await hosted.call("POST", "/page_template/preview", {
      key,
      body: { link_id: link.body.id },
      headers: { "user-agent": phone },
    });
    const own = `${project.subdomain}.localhost:${host.port}`;
    const { text: visited } = await host.visit("/a%20b", { host: own, agent: phone });
    // The test's service uses a different port for links than its host.
    const buttons = readButtons(shown.text, `${project.subdomain}.localhost:8787`, own);
    expect(buttons).toEqual(readButtons(visited, own, own));
    expect(buttons).toHaveLength(2);
    expect(buttons[1]).toContain(isLink ? `_url=http://${own}/a%20b` : "utm_source=x");
  },
);

function readButtons(page: string, host: string, shown: string): readonly string[] {
  return [...page.matchAll(/<a class="store-button[^"]*" href="([^"]*)"/g)].map(([, href = ""]) =>
    decodeURIComponent(decodeURIComponent(href))
      .replace(/(referrer=_url=)([\w-]+)/, (_, name, code) => name + decodeBase64(code))
      .replaceAll(host, shown)
      .replaceAll(encodeURIComponent(host), encodeURIComponent(shown)),
  );
}

const decodeBase64 = (code: string) => Buffer.from(code, "base64url").toString();

test("a template shows a long URL either in full or not at all", async () => {
  const long = `https://www.example.com/${"a".repeat(8192 - 24)}`;
  const picture = long.replace("www", "img");
  const link = await world.call("POST", "/links", {
    body: { url: long, name: "x", social_image_url: picture, path: "ü".repeat(1000) },
  });
  const text = await show({
    link_id: link.body.id,
    body:
      `<a class="plain" href="{{ link.url }}">a</a><img alt="" src="{{ link.social_image_url }}">` +
      `<a class="own" href="{{ link.address }}">b</a>` +
      `{% if link.url %}<a class="longer" href="{{ link.url | append: "?a=b" }}">c</a>{% endif %}` +
      `<a class="inner" href="https://x.example/?to={{ link.url | url_encode }}">d</a>` +
      `<p>{{ "See " | append: link.url }}</p>{% store_buttons %}`,
  });
  expect(text).toContain(`<a class="plain" href="${long}">`);
  expect(text).toContain(`src="${picture}"`);
  const own = `http://default.localhost:8787/${encodeURIComponent("ü").repeat(1000)}`;
  expect(text).toContain(`<a class="own" href="${own}">`);
  expect(text).toContain('<a class="longer">');
  expect(text).toContain('<a class="inner" href="https://x.example/?to=">');
  expect(text).toContain("<p>See</p>");
});

test("a long text in a template is truncated at a word boundary", async () => {
  const name = "word ".repeat(100);
  const social_description = "word ".repeat(3000);
  const link = await world.call("POST", "/links", { body: { name, social_description } });
  const text = await show({
    link_id: link.body.id,
    body: `<p>{{ link.social_description }}</p>{% store_buttons %}`,
  });
  expect(text).toMatch(/<p>(word ){1000,}word<\/p>/);
});
