import { afterEach, beforeEach, expect, test } from "vitest";
import { starter } from "../../src/template/starter.ts";
import { openLinkHost } from "../support/link-host.ts";
import { createWorld, type World } from "../support/world.ts";

/** A preview shows what would be seen: what is given and saved, and the buttons of the host. */

const body = "<h1>{{ link.name }}</h1>{% store_buttons %}";
const phone = "Mozilla/5.0 (Linux; Android 15; Pixel 9)";

let world: World;

beforeEach(async () => {
  world = await createWorld();
});
afterEach(async () => {
  expect(world.reported).toEqual([]);
  await world[Symbol.asyncDispose]();
});

async function preview(fields: object, agent = "") {
  const headers = { "user-agent": agent };
  const given = { body: fields, headers };
  const { status, text } = await world.call("POST", "/page_template/preview", given);
  expect([status, text]).toEqual([200, text]);
  return text;
}

test("a posted body is shown in the css of a draft that has nothing else", async () => {
  await world.call("PATCH", "/page_template", { body: { body: "", css: "h1{color:red}" } });
  const text = await preview({ body });
  expect(text).toContain("h1{color:red}");
  expect(text).not.toContain(starter.css);
});

const isStarter = (text: string) => text.includes(starter.css) && text.includes('class="card"');

test("without a body the starter is shown, and the css that is posted or saved", async () => {
  const posted = await preview({ body: "", css: "h1{color:blue}" });
  expect([isStarter(posted), posted.includes("h1{color:blue}")]).toEqual([true, true]);
  await world.call("PATCH", "/page_template", { body: { body: "", css: "h1{color:red}" } });
  const saved = await preview({});
  expect([isStarter(saved), saved.includes("h1{color:red}")]).toEqual([true, true]);
  const cleared = await preview({ css: "" });
  expect([isStarter(cleared), cleared.includes("h1{color:red}")]).toEqual([true, false]);
});

test("the starter's css stands there once", async () => {
  for (const text of [await preview({}), await preview({ body: "" })]) {
    expect(text.split(starter.css)).toHaveLength(2);
  }
});

test.each([false, true])("the buttons are the host's, referrer by link: %s", async (isLink) => {
  await using host = await openLinkHost();
  const { world: hosted } = host;
  const project = await hosted.addProject({ link_in_referrer: isLink });
  const key = await hosted.addKey({ project });
  const android_app = { package_name: "com.shop", fingerprints: ["AA:BB"], custom_scheme: "shop" };
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
  // The service of a test believes in another port than its host has.
  const buttons = readButtons(shown.text, `${project.subdomain}.localhost:8787`, own);
  expect(buttons).toEqual(readButtons(visited, own, own));
  expect(buttons).toHaveLength(2);
  expect(buttons[1]).toContain(isLink ? `_url=http://${own}/a%20b` : "utm_source=x");
});

/** Where the buttons of a page lead, with all that is written in code in plain. */
function readButtons(page: string, host: string, shown: string): readonly string[] {
  return [...page.matchAll(/<a class="store-button[^"]*" href="([^"]*)"/g)].map(([, href = ""]) =>
    decodeURIComponent(decodeURIComponent(href))
      .replace(/(referrer=_url=)([\w-]+)/, (_, name, code) => name + decodeBase64(code))
      .replaceAll(host, shown),
  );
}

const decodeBase64 = (code: string) => Buffer.from(code, "base64url").toString();

test("a long address is whole, or it is not there at all", async () => {
  const long = `https://www.example.com/${"a".repeat(8192 - 24)}`;
  const picture = long.replace("www", "img");
  const link = await world.call("POST", "/links", {
    body: { url: long, name: "x", social_image_url: picture, path: "ü".repeat(1000) },
  });
  const text = await preview({
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

test("a long text ends behind a whole word", async () => {
  const name = "word ".repeat(100);
  const social_description = "word ".repeat(3000);
  const link = await world.call("POST", "/links", { body: { name, social_description } });
  const text = await preview({
    link_id: link.body.id,
    body: `<p>{{ link.social_description }}</p>{% store_buttons %}`,
  });
  expect(text).toMatch(/<p>(word ){1000,}word<\/p>/);
});
