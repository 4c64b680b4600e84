import { describe, expect, test } from "vitest";
import type { LinkTable } from "../../src/store/tables.ts";
import { sha256 } from "../contract/sample-link.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForAll } from "../support/open-for.ts";

import agents from "./user-agents.json" with { type: "json" };

/** Dangerous addresses redirect nowhere, even if they are written directly to the database. */

let host: LinkHost;
let apps: { readonly ios: string; readonly android: string };
const shop = "https://shop.example/";
const iPhone = agents.ios["Safari on an iPhone"];
const phone = agents.android["Chrome on a phone"];

openForAll(openLinkHost, async (opened) => {
  host = opened;
  const team_id = "ABCDE12345";
  const ios = await host.add("ios_app", { bundle_id: "com.example.a", team_id, app_store_id: "1" });
  const android = await host.add("android_app", {
    package_name: "com.example.a",
    fingerprints: [sha256],
  });
  apps = { ios: ios.id, android: android.id };
  await host.add("link", { path: "shop", url: shop });
});

/** Addresses that would take a browser to another scheme, or to another host than they seem to. */
const addresses = [
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  " javascript:alert(1)",
  "java\tscript:alert(1)",
  "\u0001javascript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "vbscript:msgbox(1)",
  "file:///etc/passwd",
  "blob:https://shop.example/x",
  "about:blank",
  "intent://evil#Intent;scheme=https;end",
  "ftp://evil.example/",
  "ws://evil.example/",
  "//evil.example/",
  "/\\evil.example/",
  "\\\\evil.example/",
  "/evil",
  "evil.example",
  "https:evil.example",
  "https:/evil.example",
  "https:///evil.example",
  "http:\\\\evil.example",
  "https://shop.example@evil.example/",
  "https://shop.example:x@evil.example/",
  "https://@evil.example/",
  "https://shop.example\\@evil.example/",
  "https://evil.example\\.shop.example/",
  "https://shop.example/\r\nSet-Cookie: a=1",
  "https://shop.example/\r\n\r\n<script>alert(1)</script>",
  "https://shop.example/\nLocation: https://evil.example/",
  "https://shop.example/\u0085X: 1",
  "https://shop.example/\u2028X: 1",
  "https://shop.example/\u202egpj.exe",
  "https://",
  "https://?",
  "https://%",
  "https://[::1",
  "https://shop example/",
  "h\u200bttps://evil.example/",
  "ｈｔｔｐｓ://evil.example/",
  "",
  " ",
];

describe("a link with a dangerous URL", () => {
  test.each(addresses)("never redirects: %j", async (address) => {
    const fields = {
      url: address,
      ios_fallback_url: address,
      android_fallback_url: address,
    };
    const path = await writeLink(fields);
    for (const agent of [iPhone, phone, agents.desktop["Chrome on Windows"]]) {
      const visited = await host.visit(path, { agent });
      expect(visited.headers.location).toBeUndefined();
      expect(visited.status).toBe(200);
      expect(visited.headers["set-cookie"]).toBeUndefined();
      expect(visited.text).not.toMatch(/(?:href|src)="[^"]*(?:script:|evil)/i);
    }
  });
});

describe("a destination with characters that are not allowed in a header", () => {
  test.each([
    ["https://bücher.example/ä?ö#ü", "https://xn--bcher-kva.example/%C3%A4?%C3%B6#%C3%BC"],
    ["https://shop.example/日本", "https://shop.example/%E6%97%A5%E6%9C%AC"],
    ["https://shop.example/%0d%0aX:1", "https://shop.example/%0d%0aX:1"],
    ["https://shop.example/?q=%250a", "https://shop.example/?q=%250a"],
    ["https://evil%2eexample/", "https://evil%2eexample/"],
  ])("is encoded in a single Location header: %j", async (url, location) => {
    const path = await writeLink({ url });
    expect((await host.visit(path)).headers.location).toBe(location);
    const raw = await host.sendRaw(
      `GET ${path} HTTP/1.1\r\nHost: default.localhost\r\nConnection: close\r\n\r\n`,
    );
    expect(raw.match(/^location:.*$/gim)).toEqual([`location: ${location}`]);
  });
});

describe("an app store parameter", () => {
  test.each([
    "a&id=evil.app",
    "a#b",
    "a\r\nLocation: https://evil.example/",
    "https://evil.example/",
    "%0d%0aX: 1",
    "a b+c",
    "\ud800",
    "é\u2028",
  ])("cannot add other parameters to the store URL: %j", async (text) => {
    const path = await writeLink({
      referrer: text,
      provider_token: text,
      campaign_token: text,
      enable_forced_redirect: 1,
      ios_app_id: apps.ios,
      android_app_id: apps.android,
    });
    const ios = new URL((await host.visit(path, { agent: iPhone })).headers.location ?? "");
    expect(ios.host + ios.pathname).toBe("apps.apple.com/app/id1");
    expect([...ios.searchParams.keys()]).toEqual(["pt", "ct", "mt"]);
    expect(ios.searchParams.get("ct")).toBe(text.toWellFormed());
    const android = new URL((await host.visit(path, { agent: phone })).headers.location ?? "");
    expect(android.host + android.pathname).toBe("play.google.com/store/apps/details");
    expect(android.searchParams.getAll("id")).toEqual(["com.example.a"]);
    expect(android.searchParams.get("referrer")).toBe(text.toWellFormed());
  });
});

describe("the link host", () => {
  test.each([
    "//evil.example/",
    "//evil.example/shop",
    "///evil.example",
    "/\\evil.example",
    "/%5cevil.example",
    "/%2f%2fevil.example",
    "/https://evil.example/",
    "/shop/../../evil",
    "/shop/..%2f..%2fevil",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..;/shop",
    "/shop%00",
    "/shop%0d%0aLocation:%20https://evil.example/",
    "/shop%0aSet-Cookie:%20a=1",
    "/shop%c0%af",
    "/shop%",
    "/shop%zz",
    "/%ff%fe",
    "/shop%e2%80%ae",
    "/%00",
    "/@evil.example",
    "/.well-known/",
    "/.well-known/../shop",
    "/.well-known/apple-app-site-association/",
    "/.WELL-KNOWN/assetlinks.json",
    "/apple-app-site-association",
    "/_waypost/x",
    "/api/v1/links",
    "/mcp",
    "/healthz",
    "/approve/x",
    "/shop.qr.png",
    `/${"x".repeat(8000)}`,
    `/${"%2e".repeat(2000)}`,
    `/${"a/".repeat(3000)}`,
    "/<script>alert(1)</script>",
    "/%3Cscript%3Ealert(1)%3C/script%3E",
    "/{{link.url}}",
    "/__proto__",
    "/constructor",
  ])("returns the normal 404 page if the target is not the path of a link: %s", async (target) => {
    const visited = await host.visit(target.slice(0, 15_000));
    const missing = await host.visit("/missing");
    expect(visited.status).toBe(404);
    expect(visited.text).toBe(missing.text);
    expect(visited.headers.location).toBeUndefined();
  });

  test.each([
    "shop",
    "http://evil.example/shop",
    "https://default.localhost/shop",
    "*",
    "evil.example:443",
    "/shop\x80",
    "/sh\xc3\xb6p",
    "/shop\t",
    "/shop\x0b",
  ])("returns an error, not a redirect, for a target that no browser sends: %j", async (target) => {
    const answer = await host.sendRaw(
      `GET ${target} HTTP/1.1\r\nHost: default.localhost\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
    expect(answer).not.toMatch(/location/i);
  });

  test("redirects to a link's destination whatever the headers contain", async () => {
    const tries = ["url=", "to=", "next=", "link=", "ifl=", "_url="];
    for (const name of tries) {
      const visited = await host.visit(`/shop?${name}https://evil.example/`, {
        headers: {
          "x-forwarded-host": "evil.example",
          "x-original-url": "/evil",
          referer: "https://evil.example/",
        },
      });
      // The query stays behind the link's own address.
      expect(visited.headers.location).toBe(`${shop}?${name}https://evil.example/`);
    }
  });
});

describe("a preview page", () => {
  test("uses the visitor's query only in the URL that opens the app", async () => {
    const path = await writeLink({ android_app_id: apps.android, url: shop });
    const query = `?"><script>alert(1)</script>;S.browser_fallback_url=https://evil.example`;
    const visited = await host.visit(path + query.replaceAll(" ", "+"), { agent: phone });
    expect(visited.text).not.toContain("<script>");
    const [, href = ""] = /href="(intent:[^"]*)"/.exec(visited.text) ?? [];
    const [, intent = ""] = href.split("#Intent;");
    expect(href.split("#")).toHaveLength(2);
    expect(intent).toContain("package=com.example.a;");
    expect(intent).not.toContain("evil");
  });
});

/** Writes an unchecked link directly to the database. */
let writtenLinks = 0;
async function writeLink(fields: Partial<LinkTable>): Promise<string> {
  writtenLinks += 1;
  const path = `writtenLinks/${writtenLinks}`;
  const link = await host.add("link", { path, url: shop });
  const { url = null, ...rest } = fields;
  await host.world.store.write((db) =>
    db
      .updateTable("links")
      .set({ url, ...rest })
      .where("id", "=", link.id)
      .execute(),
  );
  return `/${path}`;
}
