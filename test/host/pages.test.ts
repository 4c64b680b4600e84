import { describe, expect, test } from "vitest";
import { deleteLink } from "../../src/store/links.ts";
import { updateProject } from "../../src/store/projects.ts";
import { starter } from "../../src/template/starter-template.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";
import { waitUntil } from "../support/clock.ts";
import { addApps } from "./add-apps.ts";

import agents from "./user-agents.json" with { type: "json" };

/** The page that visitors see before an app or a store: its design and its links. */

const url = "https://shop.example/";
const iPhone = agents.ios["Safari on an iPhone"];
const phone = agents.android["Chrome on a phone"];

let host: LinkHost;
openForEach(openLinkHost, async (opened) => {
  host = opened;
  await addLink(host);
});

async function addLink(at: LinkHost): Promise<void> {
  const apps = await addApps(at);
  await at.add("link", { path: "spring", url, social_title: "Spring sale", ...apps });
}

const arabic = { "accept-language": "ar, de;q=0.9" };

const readLinks = (html: string) =>
  Array.from(html.matchAll(/<a [^>]*href="([^"]*)"/g), ([, href]) => href);

const publish = (word: string) =>
  host.world.call("POST", "/page_template/publish", {
    body: { body: `<p>${word} {{ link.name }}</p>{% store_buttons %}`, css: "" },
  });

describe("the preview page", () => {
  test("forbids caching and indexing, sets no cookie and uses each CSP nonce once", async () => {
    const { headers } = await host.visit("/spring", { agent: iPhone });
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "private, no-store",
      vary: "user-agent, accept-language",
      "x-content-type-options": "nosniff",
      "x-robots-tag": "noindex",
    });
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; /);
    expect(headers["set-cookie"]).toBeUndefined();
    const again = await host.visit("/spring", { agent: iPhone });
    const nonce = /nonce-([\w-]{22})'/;
    const [first, second] = [headers, again.headers].map(
      (seen) => nonce.exec(String(seen["content-security-policy"]))?.[1],
    );
    expect(first).toBeDefined();
    expect(second).not.toBe(first);
  });

  test("opens the app with its custom scheme on iOS and with an intent on Android", async () => {
    const ios = await host.visit("/spring?a=1", { agent: iPhone });
    expect(readLinks(ios.text)).toEqual(["shop://spring?a=1", "https://apps.apple.com/app/id1"]);
    const android = await host.visit("/spring", { agent: phone });
    const play = "https://play.google.com/store/apps/details?id=com.example.a";
    expect(readLinks(android.text)).toEqual([
      `intent://default.localhost:${host.port}/spring#Intent;scheme=http;package=com.example.a;` +
        `S.browser_fallback_url=${encodeURIComponent(play)};end`,
      play,
    ]);
  });

  test("omits a stored custom scheme that is reserved by the system", async () => {
    const custom_scheme = "intent";
    await host.world.store.write(async (db) => {
      await db.updateTable("ios_apps").set({ custom_scheme }).execute();
      await db.updateTable("android_apps").set({ custom_scheme }).execute();
    });
    for (const agent of [iPhone, phone]) {
      const { text } = await host.visit("/spring", { agent });
      const link = `http://default.localhost:${host.port}/spring`;
      expect(text).toContain(`<meta property="al:ios:url" content="${link}">`);
      expect(text).toContain(`<meta property="al:android:url" content="${link}">`);
    }
  });

  test("uses the published template's design from the next visit on", async () => {
    const read = async () => (await host.visit("/spring", { agent: iPhone })).text;
    expect(await read()).not.toContain("Sesame");
    expect((await publish("Sesame")).status).toBe(200);
    expect(await read()).toContain("<p>Sesame ");
    await publish("Barley");
    expect(await read()).toContain("<p>Barley ");
    await host.world.call("PATCH", "/page_template", {
      body: { body: "<p>Draft</p>{% store_buttons %}" },
    });
    expect(await read()).toContain("<p>Barley ");
    await host.world.call("POST", "/page_template/unpublish");
    expect(await read()).not.toContain("Barley");
  });

  test("uses its own project's design", async () => {
    const { world } = host;
    const projects = [await world.addProject(), world.project, await world.addProject()];
    for (const [index, project] of projects.entries()) {
      const key = await world.addKey({ project });
      const ios_app = { bundle_id: "com.example.own", team_id: "ABCDE12345" };
      await world.call("POST", "/links", { key, body: { path: "own", ios_app } });
      const template = { body: `<p>Design ${index}</p>{% store_buttons %}`, css: "" };
      if (index < 2) await world.call("POST", "/page_template/publish", { key, body: template });
    }
    const designs: (string | undefined)[] = [];
    for (const { subdomain } of projects) {
      const { text } = await host.visit("/own", { host: `${subdomain}.localhost`, agent: iPhone });
      designs.push(/<p>(Design \d)<\/p>/.exec(text)?.[1]);
    }
    expect(designs).toEqual(["Design 0", "Design 1", undefined]);
  });

  test("uses the default body if only CSS was published", async () => {
    const body = { css: ".card { outline: 3px solid #123456 }" };
    const published = await host.world.call("POST", "/page_template/publish", { body });
    expect(published.status).toBe(200);
    const { text } = await host.visit("/spring", { agent: iPhone, headers: arabic });
    expect(text).toContain('class="card"');
    expect(text).toContain('<html lang="ar" dir="rtl">');
    expect(text).toContain(starter.css);
    expect(text).toContain(body.css);
  });

  test("has the same text in every language if a template is published", async () => {
    await publish("Sesame");
    const agent = agents.ios["Instagram's browser on an iPhone"];
    const { text, headers } = await host.visit("/spring", { agent, headers: arabic });
    expect(headers.vary).toBe("user-agent");
    expect(text).toContain('<html lang="en">');
    expect(text).toContain("<span>Open the app</span>");
    expect(text).not.toContain('class="leave"');
  });

  test("uses the default design if the operator has disabled templates", async () => {
    await publish("Sesame");
    const { id } = host.world.project;
    await host.world.store.write((db) => updateProject(db, id, { templates_enabled: false }, 0));
    const visited = await host.visit("/spring", { agent: iPhone });
    expect(visited.text).not.toContain("Sesame");
    expect(visited.text).toContain("Spring sale");
  });

  test("uses the default design if the stored template is invalid", async () => {
    await publish("Sesame");
    await host.world.store.write((db) =>
      db.updateTable("page_template_versions").set({ body: "{% nonsense %}" }).execute(),
    );
    const visited = await host.visit("/spring", { agent: iPhone });
    expect(visited).toMatchObject({ status: 200 });
    expect(visited.text).toContain("Spring sale");
  });
});

describe("a server with two host names", () => {
  test("only visits to the first host name are stored for later installs", async () => {
    await using twice = await openLinkHost({ secondOrigin: "http://{subdomain}.open.localhost" });
    const ios_app = { bundle_id: "com.example.b", team_id: "ABCDE12345" };
    await twice.add("link", { path: "b", ios_app, ios_deferred_deep_linking_enabled: true });
    const { db } = twice.world.store;
    const listNoted = () => db.selectFrom("deferred_visits").select(["id", "whole"]).execute();
    const page = await twice.visit("/b", { agent: iPhone });
    const [, visit = ""] = /visit:"([\w-]{22})"/.exec(page.text) ?? [];
    await waitUntil(async () => (await listNoted()).length === 1);
    const noted = await listNoted();
    const second = { host: "default.open.localhost", agent: iPhone };
    const followed = await twice.visit("/b", second);
    expect(followed.text).not.toContain("visit:");
    const body = { visit, screen_width: 393, screen_height: 852, device_pixel_ratio: 3 };
    expect((await twice.visit("/b", { ...second, method: "POST", body })).status).toBe(405);
    expect(await listNoted()).toEqual(noted);
  });

  test("the Open button's URL redirects visitors who do not have the app", async () => {
    await using twice = await openLinkHost({ secondOrigin: "http://{subdomain}.open.localhost" });
    await addLink(twice);
    const ios = await twice.visit("/spring?a=1", { agent: iPhone });
    const [open, store] = readLinks(ios.text);
    expect(open).toBe("http://default.open.localhost/spring?a=1");
    const second = { host: "default.open.localhost", agent: iPhone };
    const followed = await twice.visit("/spring?a=1", second);
    expect(followed).toMatchObject({ status: 302, headers: { location: store } });
    const file = await twice.visit("/.well-known/apple-app-site-association", second);
    expect(file.text).toContain("com.example.a");
    const [link] = (await twice.world.call("GET", "/links")).body.links;
    expect(link.clicks).toBe(1);
  });
});

test("a link returns 404 within 20 ms of its deletion by another process", async () => {
  const [link] = (await host.world.call("GET", "/links")).body.links;
  const visit = () => host.visit("/spring");
  expect((await visit()).status).toBe(302);
  const { openSql, project } = host.world;
  const other = await openSql();
  await other.write((db) => deleteLink({ db, projectId: project.id }, link.id, 0));
  await other.close();
  host.world.advance(20);
  expect((await visit()).status).toBe(404);
});
