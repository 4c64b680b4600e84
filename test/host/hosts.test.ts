import { describe, expect, test } from "vitest";
import { updateProject, type ProjectChanges } from "../../src/store/projects.ts";
import { StoreBusy } from "../../src/store/store.ts";
import {
  foreignHostText,
  openLinkHost,
  type LinkHost,
  type VisitReply,
  type VisitInput,
} from "../support/link-host.ts";
import { openForAll } from "../support/open-for.ts";

import agents from "./user-agents.json" with { type: "json" };

/** Which project a host name belongs to, and what a missing link or project looks like. */

const url = "https://first.example/";

let host: LinkHost;
let other: { readonly id: string };

openForAll(openLinkHost, async (opened) => {
  host = opened;
  await host.add("link", { path: "spring", url });
  const custom_domain = "go.other.example";
  other = await host.world.addProject({ subdomain: "other", custom_domain });
  const key = await host.world.addKey({ project: other });
  await host.world.call("POST", "/links", { key, body: { path: "spring", url: `${url}other` } });
});

const visitOwn = () => host.visit("/spring", { host: "go.other.example:443" });

describe("a host name", () => {
  test("is recognized in upper or lower case and with any port", async () => {
    for (const name of ["default.localhost", "DEFAULT.localhost:1", "default.localhost:8787"]) {
      expect((await host.visit("/spring", { host: name })).headers.location).toBe(url);
    }
    const visited = await host.visit("/spring", { host: "other.localhost" });
    expect(visited.headers.location).toBe(`${url}other`);
  });

  test("is used as a project's custom domain only while it is verified", async () => {
    expect(await visitOwn()).toMatchObject({ status: 421, text: foreignHostText });
    await change({ custom_domain_verified: true });
    expect((await visitOwn()).headers.location).toBe(`${url}other`);
    await change({ custom_domain_verified: false });
    expect((await visitOwn()).status).toBe(421);
  });

  test("can be a verified custom domain even if it is a subdomain of the link origin", async () => {
    const visit = async () => {
      const { status, headers } = await host.visit("/spring", { host: "go.localhost" });
      return headers.location ?? status;
    };
    const address = `http://go.localhost/spring`;
    const resolve = async () => {
      const given = { key: null, body: { url: address } };
      return (await host.world.call("POST", "/short_links/resolve", given)).body.url;
    };
    await change({ custom_domain: "go.localhost" });
    expect([await visit(), await resolve()]).toEqual([404, undefined]);
    await change({ custom_domain_verified: true });
    expect([await visit(), await resolve()]).toEqual([`${url}other`, `${url}other`]);
    // Another project's subdomain does not take the name, but an unverified domain loses it.
    await host.world.addProject({ subdomain: "go" });
    expect([await visit(), await resolve()]).toEqual([`${url}other`, `${url}other`]);
    await change({ custom_domain_verified: false });
    expect([await visit(), await resolve()]).toEqual([404, undefined]);
    await change({ custom_domain: "go.other.example" });
  });

  test.each([
    "localhost",
    "127.0.0.1",
    "[::1]",
    "",
    "default.localhost.",
    "default.localhost.evil.example",
    "evil.example",
    "xdefault.localhost.evil",
    "a.default.localhost",
    "default.localhost@evil.example",
    "default_localhost",
    "d%65fault.localhost",
    "dеfault.localhost".normalize(),
    `${"a".repeat(70)}.example`,
    "x".repeat(4000),
  ])("opens no link if it belongs to no project: %j", async (name) => {
    const visited = await host.visit("/spring", { host: Buffer.from(name).toString("latin1") });
    expect(visited.headers.location).toBeUndefined();
    expect([404, 421]).toContain(visited.status);
  });

  test("is read from the first of two Host headers", async () => {
    const request = "GET /spring HTTP/1.1\r\nHost: other.localhost\r\nHost: default.localhost\r\n";
    const answer = await host.sendRaw(`${request}Connection: close\r\n\r\n`);
    expect(answer).toContain(`\r\nlocation: ${url}other\r\n`);
  });

  test("is not read from an absolute request target", async () => {
    const answer = await host.sendRaw(
      "GET http://other.localhost/spring HTTP/1.1\r\nHost: default.localhost\r\n" +
        "Connection: close\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  });
});

describe("a missing link", () => {
  test("returns the same 404 response whether its project is missing or suspended", async () => {
    const home_url = "https://shop.example/home";
    await change({ suspended: true, home_url, not_found_url: home_url });
    const asked = [
      await host.visit("/spring", { host: "nobody.localhost" }),
      await host.visit("/", { host: "nobody.localhost" }),
      await host.visit("/.well-known/assetlinks.json", { host: "nobody.localhost" }),
      await host.visit("/spring", { host: "other.localhost" }),
      await host.visit("/nothing", { host: "other.localhost" }),
      await host.visit("/", { host: "other.localhost", headers: { "accept-language": "de" } }),
      await host.visit("/.well-known/assetlinks.json", { host: "other.localhost" }),
    ];
    await change({ suspended: false, home_url: null, not_found_url: null });
    const [first] = asked;
    expect(new Set(asked.map(describeResponse)).size).toBe(1);
    expect(first?.status).toBe(404);
    expect(first?.text).not.toMatch(/default|other|nothing|localhost|Waypost/i);
    expect(first?.headers).toMatchObject({
      "cache-control": "private, no-store",
      "x-robots-tag": "noindex",
      "content-type": "text/html; charset=utf-8",
    });
    expect((await host.visit("/spring", { host: "other.localhost" })).status).toBe(302);
  });

  test("returns a 404 page with the project's name, even if the link existed before", async () => {
    await host.add("link", { path: "gone", url });
    const [link] = (await host.world.call("GET", "/links", { query: "q[path_eq]=gone" })).body
      .links;
    await host.world.call("DELETE", `/links/${link.id}`);
    const asked = [
      await host.visit("/nothing"),
      await host.visit("/gone"),
      await host.visit("/gone?id=7"),
      await host.visit("/nothing.qr"),
      await host.visit("/gone.qr"),
      await host.visit("/.well-known/nothing"),
      await host.visit("/nothing", { agent: agents.bots.Slack }),
    ];
    const [first] = asked;
    expect(new Set(asked.map(describeResponse)).size).toBe(1);
    expect(first?.status).toBe(404);
    expect(first?.text).not.toMatch(/nothing|gone|localhost|Waypost|shop/i);
    expect(first?.text).toContain('<p class="project" dir="auto">Default</p>');
    expect(first?.headers).toMatchObject({
      "cache-control": "private, no-store",
      vary: "accept-language",
      "x-robots-tag": "noindex",
      "content-type": "text/html; charset=utf-8",
    });
    expect(first?.headers["content-security-policy"]).toMatch(/^default-src 'none'; /);
    const { text } = await host.visit("/nothing", { headers: { "accept-language": "he" } });
    expect(text).toContain('<html lang="he" dir="rtl">');
  });

  test("redirects as soon as it is created and returns 404 once it is deleted again", async () => {
    expect((await host.visit("/brief")).status).toBe(404);
    const { id } = await host.add("link", { path: "brief", url });
    for (const seen of [1, 2]) {
      expect([seen, (await host.visit("/brief")).status]).toEqual([seen, 302]);
    }
    await host.world.call("PATCH", `/links/${id}`, { body: { url: `${url}new` } });
    expect((await host.visit("/brief")).headers.location).toBe(`${url}new`);
    await host.world.call("DELETE", `/links/${id}`);
    expect((await host.visit("/brief")).status).toBe(404);
  });
});

describe("home_url and not_found_url", () => {
  const home_url = "https://shop.example/home?a=1";
  const not_found_url = "https://shop.example/müll";
  const at = { host: "other.localhost" };
  const ask = async (path: string, given: VisitInput = {}) => {
    const { status, headers } = await host.visit(path, { ...at, ...given });
    return [status, headers.location];
  };

  test("get visits of the root and of missing links, without their queries", async () => {
    await change({ home_url, not_found_url });
    const missing = [302, "https://shop.example/m%C3%BCll"];
    for (const path of ["/", "/?id=7"]) expect(await ask(path)).toEqual([302, home_url]);
    for (const path of ["/nothing", "/nothing?id=7", "/a/../b", "/x%5Cy"]) {
      expect([path, await ask(path)]).toEqual([path, missing]);
    }
    expect((await ask("/spring"))[1]).toBe(`${url}other`);
    const { headers } = await host.visit("/nothing", at);
    expect(headers).toMatchObject({ "cache-control": "private, no-store" });
    await change({ home_url: null, not_found_url: null });
    expect(await ask("/nothing")).toEqual([404, undefined]);
  });

  test("do not apply to other projects or to well-known files, QR codes and sitemaps", async () => {
    await change({ home_url, not_found_url });
    for (const path of ["/.well-known/change-password", "/nothing.qr", "/sitemap.xml"]) {
      expect([path, await ask(path)]).toEqual([path, [404, undefined]]);
    }
    expect(await ask("/nothing", { host: "default.localhost" })).toEqual([404, undefined]);
    await change({ home_url: null, not_found_url: null });
  });

  test("are ignored if they would cause a redirect loop or are not web URLs", async () => {
    const addresses = [
      "https://other.localhost:1/nothing",
      `http://OTHER.localhost:${host.port}/`,
      "javascript:alert(1)",
      "market://details?id=a",
    ];
    for (const address of addresses) {
      await change({ home_url: address, not_found_url: address });
      expect([address, await ask("/"), await ask("/nothing")]).toEqual([
        address,
        [200, undefined],
        [404, undefined],
      ]);
    }
    await change({ home_url: null, not_found_url: null });
  });

  test("are optional: without home_url, the root shows the project's name", async () => {
    await host.add("link", { path: "there", url });
    const { status, text, headers } = await host.visit("/");
    expect([status, headers["cache-control"]]).toEqual([200, "private, no-store"]);
    const [, body = ""] = /<body>(.*)<\/body>/s.exec(text) ?? [];
    expect(body.replaceAll(/<[^>]*>/g, " ").trim()).toMatch(/^D\s+Default$/);
  });
});

describe("the link host", () => {
  test.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])(
    "returns 405 for the method %s on any path",
    async (method) => {
      for (const path of ["/spring", "/nothing", "/.well-known/assetlinks.json"]) {
        const visited = await host.visit(path, { method });
        expect(visited).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
      }
      expect((await host.visit("/spring", { method, host: "nobody.localhost" })).status).toBe(405);
    },
  );

  test("returns 405 for POST to a path that cannot be decoded", async () => {
    expect((await host.visit("/%zz", { method: "POST", body: {} })).status).toBe(405);
  });

  test("returns the same status and headers for HEAD as for GET, without a body", async () => {
    for (const path of ["/spring", "/nothing", "/spring.qr", "/.well-known/assetlinks.json"]) {
      const { date: _, ...head } = (await host.visit(path, { method: "HEAD" })).headers;
      const { date: __, ...headers } = (await host.visit(path)).headers;
      expect(head).toEqual(headers);
    }
    expect((await host.visit("/nothing", { method: "HEAD" })).text).toBe("");
  });
});

test("a redirect's headers forbid caching", async () => {
  expect((await host.visit("/spring")).headers).toMatchObject({
    location: url,
    "cache-control": "private, no-store",
    vary: "user-agent",
    "referrer-policy": "strict-origin-when-cross-origin",
    "x-robots-tag": "noindex",
  });
});

test("the Google Play referrer contains exactly the URL that was visited", async () => {
  await change({ custom_domain_verified: true, link_in_referrer: true });
  const key = await host.world.addKey({ project: other });
  const body = {
    path: "play",
    enable_forced_redirect: true,
    android_app: { package_name: "com.example.a", fingerprints: ["AA:BB"] },
  };
  await host.world.call("POST", "/links", { key, body });
  const agent = agents.android["Chrome on a phone"];
  const visited = [
    ["other.localhost", "/play?c=1", `http://other.localhost:${host.port}/play?c=1`],
    ["other.localhost", "/play?c=2", `http://other.localhost:${host.port}/play?c=2`],
    ["other.localhost", "/play", `http://other.localhost:${host.port}/play`],
    ["other.localhost", "/%70lay", `http://other.localhost:${host.port}/%70lay`],
    ["go.other.example", "/play?c=1", "https://go.other.example/play?c=1"],
  ] as const;
  for (const [name, target, address] of visited) {
    const { headers } = await host.visit(target, { host: name, agent });
    const referrer = new URL(headers.location ?? "").searchParams.get("referrer") ?? "";
    const told = new URLSearchParams(referrer).get("_url") ?? "";
    expect(Buffer.from(told, "base64url").toString()).toBe(address);
  }
  await change({ custom_domain_verified: false, link_in_referrer: false });
});

test("the link host serves a robots.txt that allows everything, and no favicon.ico", async () => {
  expect(await host.visit("/robots.txt")).toMatchObject({
    status: 200,
    text: "User-agent: *\nAllow: /\n",
  });
  expect((await host.visit("/favicon.ico")).status).toBe(204);
});

describe("a database error during a visit", () => {
  test("causes a 503 with Retry-After and no error report if the database is busy", async () => {
    const reported: unknown[] = [];
    await using busy = await openFailing(new StoreBusy("busy"), (error) => reported.push(error));
    expect(await busy.visit("/spring")).toMatchObject({
      status: 503,
      text: "Please try again in a moment.\n",
      headers: { "retry-after": "1", "cache-control": "no-store" },
    });
    expect(reported).toEqual([]);
  });

  test("causes a 500 without details and an error report if the database is not busy", async () => {
    const reported: unknown[] = [];
    const fault = new Error("no such table: links");
    await using broken = await openFailing(fault, (error) => reported.push(error));
    const visited = await broken.visit("/spring");
    expect(visited).toMatchObject({
      status: 500,
      text: "Something went wrong. Please try again.\n",
    });
    expect(visited.headers["retry-after"]).toBeUndefined();
    expect(reported).toEqual([fault]);
  });
});

/** Everything by which a visitor could distinguish two responses. */
function describeResponse({ status, text, headers }: VisitReply): string {
  return JSON.stringify({ status, text, headers: { ...headers, date: "" } });
}

async function change(changes: ProjectChanges): Promise<void> {
  await host.world.store.write((db) => updateProject(db, other.id, changes, 0));
}

function openFailing(fault: Error, report: (error: unknown) => unknown) {
  const readVersion = () => Promise.reject(fault);
  return openLinkHost({ wrap: (store) => ({ ...store, readVersion }), report });
}
