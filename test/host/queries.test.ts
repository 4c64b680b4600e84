import { beforeAll, describe, expect, test } from "vitest";
import { updateProject } from "../../src/store/projects.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForAll } from "../support/open-for.ts";

import agents from "./user-agents.json" with { type: "json" };

/** Where the query of a visit goes. */

const url = "https://shop.example/p?own=1#top";
const iPhone = agents.ios["Safari on an iPhone"];
const phone = agents.android["Chrome on a phone"];

let host: LinkHost;
openForAll(openLinkHost, async (opened) => {
  host = opened;
  await host.add("link", { path: "product", url });
  const app = { package_name: "com.example.a", fingerprints: ["AA:BB"], name: "Shop" };
  await host.add("android_app", { ...app, custom_scheme: "shop" });
  const ios = { bundle_id: "com.example.a", team_id: "ABCDE12345", app_store_id: "1" };
  await host.add("ios_app", { ...ios, custom_scheme: "shop" });
});

const readLocation = async (path: string, agent?: string) =>
  (await host.visit(path, agent === undefined ? {} : { agent })).headers.location;

async function shorten(path: string): Promise<string> {
  const body = { url: `${host.origin}${path}` };
  const reply = await host.world.call("POST", "/short_links", { body });
  expect(reply.status, reply.text).toBe(201);
  return reply.body.shortened_path;
}

async function readReferrer(path: string): Promise<string> {
  const referrer =
    new URL((await readLocation(path, phone)) ?? "").searchParams.get("referrer") ?? "";
  return Buffer.from(new URLSearchParams(referrer).get("_url") ?? "", "base64url").toString();
}

describe("a trailing slash in a visited path", () => {
  test("is ignored when the link is looked up", async () => {
    await host.add("link", { path: "only/", url });
    for (const path of ["/product", "/product/", "/product%2F", "/product///", "/only"]) {
      expect([path, await readLocation(path)]).toEqual([path, url]);
    }
    for (const path of ["//product", "//", "/robots.txt/", "/product.qr/"]) {
      expect([path, (await host.visit(path)).status]).toEqual([path, 404]);
    }
  });
});

describe("the query of a visit", () => {
  test.each([
    ["id=1", "own=1&id=1"],
    ["id=%C3%A9+%20&b=a%26c", "own=1&id=%C3%A9+%20&b=a%26c"],
    ["own=2&id=1&%6Fwn=3", "own=1&id=1"],
    ["a[]=1&a[]=2", "own=1&a[]=1&a[]=2"],
    ["", "own=1"],
    ["&&", "own=1"],
    ["x=%0d%0aSet-Cookie:%20a=b", "own=1&x=%0d%0aSet-Cookie:%20a=b"],
  ])("is added after the destination's own query: %j", async (query, whole) => {
    const { headers } = await host.visit(`/product?${query}`);
    expect(headers.location).toBe(`https://shop.example/p?${whole}#top`);
    expect(headers["set-cookie"]).toBeUndefined();
    // The redirect of one visitor is not used for the next.
    expect(await readLocation("/product")).toBe(url);
  });

  test("is added to a fallback URL on the web, but not to a store URL", async () => {
    const fields = {
      path: "fallbacks",
      ios_fallback_url: "https://shop.example/ios",
      android_fallback_url: "https://play.google.com/store/apps/details?id=com.a",
    };
    await host.add("link", fields);
    expect(await readLocation("/fallbacks?id=1", iPhone)).toBe("https://shop.example/ios?id=1");
    expect(await readLocation("/fallbacks?id=1", phone)).toBe(fields.android_fallback_url);
    const app = { android_app: { package_name: "com.example.a" } };
    const ios = { ios_app: { bundle_id: "com.example.a" }, enable_forced_redirect: true };
    await host.add("link", { path: "stores", url, ...app, ...ios });
    expect(await readLocation("/stores?id=1", iPhone)).toBe("https://apps.apple.com/app/id1");
    expect(await readLocation("/stores?id=1", phone)).toBe(
      "https://play.google.com/store/apps/details?id=com.example.a",
    );
  });

  test("is added to the destination on the preview page", async () => {
    const fields = { android_app: { package_name: "com.example.a" } };
    await host.add("link", { path: "page", android_fallback_url: url, ...fields });
    const { text } = await host.visit('/page?id=1&x="><b>', { agent: phone });
    expect(text).toContain("https://shop.example/p?own=1&amp;id=1&amp;x=&quot;&gt;&lt;b&gt;#top");
    expect(text).not.toContain("<b>");
    const [, canonical] = /rel="canonical" href="([^"]*)"/.exec(text) ?? [];
    expect(canonical).toBe(`${host.origin}/page`);
  });

  test("is part of the URL in the QR code", async () => {
    const { headers } = await host.visit("/product.qr?id=1");
    expect(headers["content-type"]).toBe("image/svg+xml");
    const png = await host.visit("/product.qr?format=png&id=1");
    expect(png.headers["content-type"]).toBe("image/png");
    const tags = [headers, png.headers, (await host.visit("/product.qr")).headers];
    expect(new Set(tags.map(({ etag }) => etag)).size).toBe(3);
  });
});

describe("the project setting link_in_referrer", () => {
  beforeAll(async () => {
    const { world } = host;
    const changes = { link_in_referrer: true };
    await world.store.write((db) => updateProject(db, world.project.id, changes, 0));
    await host.add("link", {
      path: "app",
      url,
      android_app: { package_name: "com.example.a" },
      enable_forced_redirect: true,
    });
    await host.add("link", { path: "banner", url, ios_app: { bundle_id: "com.example.a" } });
    return async () => {
      const off = { link_in_referrer: false };
      await world.store.write((db) => updateProject(db, world.project.id, off, 0));
    };
  });

  test("a query that would make the URL too long is omitted from the referrer", async () => {
    expect(await readReferrer(`/app?id=${"1".repeat(8200)}`)).toBe(`${host.origin}/app`);
  });

  test("puts the original URL of a short link in the referrer, not the short path", async () => {
    const short = await shorten("/app?id=1");
    expect(await readReferrer(`/${short}?b=2`)).toBe(`${host.origin}/app?id=1&b=2`);
  });

  test("apps and Google Play receive the percent-encoded URL", async () => {
    const android_app = { package_name: "com.example.a" };
    const ios_app = { bundle_id: "com.example.a" };
    await host.add("link", { path: "grüße", url, android_app, enable_forced_redirect: true });
    await host.add("link", { path: "größe", url, ios_app });
    const played = "/gr%C3%BC%C3%9Fe?id=1";
    for (const path of [played, `/${await shorten(played)}`]) {
      expect(await readReferrer(path)).toBe(host.origin + played);
    }
    const shown = "/gr%C3%B6%C3%9Fe?id=1";
    for (const path of [shown, `/${await shorten(shown)}`]) {
      const { text } = await host.visit(path, { agent: iPhone });
      expect(text).toContain(`app-argument=${host.origin}${shown}`);
      expect(text).toContain(`content="shop:/${shown}"`);
    }
  });

  test("the page's iOS tags contain the URL with its query", async () => {
    const { text } = await host.visit("/banner?id=1", { agent: iPhone });
    expect(text).toContain(`app-argument=${host.origin}/banner?id=1`);
    expect(text).toContain('content="shop://banner?id=1"');
  });
});

describe("a short path created for a link's URL with a query", () => {
  test("redirects like that URL and counts as a click on the link", async () => {
    const { id } = await host.add("link", { path: "short/ü", url });
    const one = await shorten("/short/%C3%BC?id=1");
    const two = await shorten("/short/%C3%BC?id=2&own=3");
    expect(await readLocation(`/${one}`)).toBe("https://shop.example/p?own=1&id=1#top");
    expect(await readLocation(`/${two}/`)).toBe("https://shop.example/p?own=1&id=2#top");
    expect(await readLocation(`/${one}?id=3&b=4`)).toBe(
      "https://shop.example/p?own=1&id=1&b=4#top",
    );
    expect(await readLocation(`/${one}`)).toBe("https://shop.example/p?own=1&id=1#top");
    expect(await readLocation("/short/%C3%BC")).toBe(url);
    expect(await host.readClicks(id)).toBe(5);
    expect((await host.visit(`/${one}.qr`)).status).toBe(200);
  });

  test("opens the app with that query", async () => {
    const app = { ios_app: { bundle_id: "com.example.a" } };
    await host.add("link", { path: "short/app", url, ...app });
    const short = await shorten("/short/app?id=1");
    const { text } = await host.visit(`/${short}`, { agent: iPhone });
    expect(text).toContain('href="shop://short/app?id=1"');
  });

  test("returns 404 as soon as the link is deleted", async () => {
    const { id } = await host.add("link", { path: "gone", url });
    const short = await shorten("/gone?id=1");
    expect((await host.visit(`/${short}`)).status).toBe(302);
    await host.world.call("DELETE", `/links/${id}`);
    expect((await host.visit(`/${short}`)).status).toBe(404);
    await host.world.call("POST", `/links/${id}/restore`);
    expect(await readLocation(`/${short}`)).toContain("id=1");
  });
});
