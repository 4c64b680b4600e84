import { afterEach, describe, expect, test } from "vitest";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { measureHeld } from "../support/measure-held.ts";
import { openForEach } from "../support/open-for.ts";
import { bombs } from "./bombs.ts";

import agents from "../host/user-agents.json" with { type: "json" };

/** The worst templates, as visitors see them. */

const iPhone = agents.ios["Safari on an iPhone"];
const buttons = "{% store_buttons %}";
const longAddress = `https://shop.example/${"&".repeat(8000)}`;

let host: LinkHost;
openForEach(openLinkHost, async (opened) => {
  host = opened;
  const app = { bundle_id: "com.example.a", team_id: "ABCDE12345", custom_scheme: "shop" };
  await host.add("ios_app", app);
  const { bundle_id } = app;
  const given = { ios_app: { bundle_id }, ios_fallback_url: longAddress, url: longAddress };
  await host.add("link", { path: "small", ...given });
});
afterEach(() => expect(host.world.reported).toEqual([]));

const countButtons = (page: string) => page.split('class="store-buttons"').length - 1;
const visit = () => host.visit("/small", { agent: iPhone });
const readPolicy = async () => String((await visit()).headers["content-security-policy"]);
const publish = (body: string) =>
  host.world.call("POST", "/page_template/publish", { body: { body, css: "" } });

test("25 concurrent previews of slow templates do not delay other requests", async () => {
  const { world } = host;
  // Requests of one project are handled in turn, and no deadline passes meanwhile.
  const keys = [await world.addKey(), await world.addKey(), await world.addKey()];
  const statuses = new Set<number>();
  let answered = 0;
  let isOver = false;
  const askOthers = async () => {
    while (!isOver) {
      expect((await world.call("GET", "/links")).status).toBe(200);
      answered += 1;
      await new Promise(setImmediate);
    }
  };
  const before = await measureHeld();
  const asking = askOthers();
  // bombs.test.ts checks the steps and the result of each.
  const some = bombs.filter((_, index) => index % 3 === 0);
  await Promise.all(
    some.map(async ({ body = buttons, css = "" }, index) => {
      const given = { key: keys[index % keys.length] ?? world.key, body: { body, css } };
      statuses.add((await world.call("POST", "/page_template/preview", given)).status);
    }),
  );
  isOver = true;
  await asking;
  expect(answered).toBeGreaterThan(some.length);
  expect(statuses).toEqual(new Set([200, 422]));
  expect((await measureHeld()) - before).toBeLessThan(32 * 1024 * 1024);
});

test("a template that takes too long to render is replaced by the default design", async () => {
  let took_ms = 0;
  let now = 0;
  // Each reading of this clock advances it.
  const clock = { now: () => host.world.now(), monotonic: () => (now += took_ms) };
  await using slow = await openLinkHost({ clock });
  const { world } = slow;
  await slow.add("ios_app", { bundle_id: "com.example.a", team_id: "ABCDE12345" });
  await slow.add("link", { path: "small", ios_app: { bundle_id: "com.example.a" } });
  const body = `Own${"{% if 1 == 2 %}{% endif %}".repeat(200)}${buttons}`;
  const published = await world.call("POST", "/page_template/publish", { body: { body, css: "" } });
  expect(published.status).toBe(200);
  const show = async () => (await slow.visit("/small", { agent: iPhone })).text;
  expect(await show()).toContain("Own");
  took_ms = 30;
  expect(await show()).not.toContain("Own");
});

describe("a template that is too expensive for one link", () => {
  const costly =
    '{% assign a = link.url | split: "&" | join: " & " %}' +
    '{% assign a = a | replace: "&", "& &" %}'.repeat(240);

  test("is replaced by the default design only on that link's page", async () => {
    await host.add("link", { path: "large", ios_app: { bundle_id: "com.example.a" } });
    const body = `Own{% if link.path == "small" %}${costly}{% endif %}${buttons}`;
    expect((await publish(body)).status).toBe(200);
    const { text } = await visit();
    expect(text).not.toContain("Own");
    expect(text).toContain('class="store-buttons"');
    expect((await host.visit("/large", { agent: iPhone })).text).toContain(">Own<");
  });
});

test("a template that hides a link's store buttons is not used for that link", async () => {
  const body = `Own<{% if link.path == "small" %}!-- {% endif %}${buttons}`;
  expect((await publish(body)).status).toBe(200);
  const { text } = await visit();
  expect(countButtons(text)).toBe(1);
  expect(text).not.toContain("Own");
});

describe("the internal marker of the store buttons", () => {
  test.each(["&#xFDD0;", "&#64976;", "\ufdd0", "&#xDC00;", "&#56320;"])(
    "cannot be written in a template: %j",
    async (name) => {
      expect((await publish(`<p>Own${name.repeat(500)}</p>${buttons}`)).status).toBe(200);
      const { text } = await visit();
      expect(text).toContain("<p>Own");
      expect(countButtons(text)).toBe(1);
      expect(text.indexOf('class="store-buttons"')).toBeGreaterThan(text.indexOf("</p>"));
    },
  );

  test("is not recognized in the output of Liquid", async () => {
    await publish(`<p title="&#xDC00;{{ link.name }}">{{ link.name }}</p>${buttons}`);
    const [link] = (await host.world.call("GET", "/links")).body.links;
    await host.world.call("PATCH", `/links/${link.id}`, { body: { name: "\ufdd0 &#xDC00;" } });
    const { text } = await visit();
    expect(text).toContain("<p title=");
    expect(countButtons(text)).toBe(1);
  });
});

test("a page's Content-Security-Policy allows images only if the page has an image", async () => {
  await publish(`<{% if true %}img alt="" src="https://x.example/a.png"{% endif %}>${buttons}`);
  expect(await readPolicy()).toContain("img-src data: https:;");
  await publish(
    `{% if link.path == "x" %}<img alt="" src="https://x.example/">{% endif %}${buttons}`,
  );
  expect(await readPolicy()).toContain("img-src data:;");
});
