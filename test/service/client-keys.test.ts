import { describe, expect, test } from "vitest";
import { listMethods, type Endpoint } from "../../src/contract/endpoint.ts";
import { apiPrefix, listEndpoints, served } from "../../src/contract/index.ts";
import { messages } from "../../src/contract/messages.ts";
import { webhookEvents } from "../../src/contract/webhook-events.ts";
import { issueClientKey } from "../../src/service/keys.ts";
import { deleteClientKey, listClientKeys } from "../../src/store/keys.ts";
import { deleteProject, updateProject } from "../../src/store/projects.ts";
import { insertWebhook } from "../../src/store/webhooks.ts";
import { noteClick } from "../support/rows.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, origin, type World } from "../support/world.ts";
import { readAnswer, readRefusal } from "../sdk/readers.ts";

/** Tests client keys and POST /links/attribute, which tells an app's SDK the opened link. */

const host = "http://default.localhost:8787";
const ios = { bundle_id: "com.example.shop", team_id: "ABCDE12345", custom_scheme: "Shop" };

let world: World;
let client: string;
openForEach(createWorld, async (opened) => {
  world = opened;
  client = await makeClientKey(world.project.id);
});

async function makeClientKey(project_id: string): Promise<string> {
  const maker = { clock: world.clock, random: { bytes: fill } };
  return (await world.store.write((db) => issueClientKey(db, maker, { project_id }))).token;
}

let drawn = 0;
const fill = (count: number) => Uint8Array.from({ length: count }, () => (drawn += 7) % 251);

const attribute = (url: unknown, more: object = {}, key = client) =>
  world.call("POST", "/links/attribute", {
    key,
    body: { url, platform: "android", is_deferred: false, ...more },
  });

describe("POST /links/attribute with a client key", () => {
  test("finds the link for a URL and returns it as the iOS and Android SDKs expect", async () => {
    const link = await world.make("/links", {
      path: "Frühling/schuhe",
      name: "Push: cart abandoned",
      social_title: "Shoes",
      url: "https://example.com",
    });
    const reply = await attribute(`${host}/Fr%C3%BChling/schuhe`);
    expect([reply.status, reply.body]).toEqual([
      200,
      { matched: true, confidence: "high", match_score: 100, link: expect.anything() },
    ]);
    expect(reply.text).not.toContain("Push: cart abandoned");
    for (const sdk of ["ios", "android"] as const) {
      const { link: read, ...rest } = readAnswer(sdk, reply);
      expect(rest).toEqual({ matched: true, confidence: "high", match_score: 100 });
      expect(read).toMatchObject({
        id: link.id,
        social_title: "Shoes",
        path: "Frühling/schuhe",
        url: "https://example.com",
        full_url: `${host}/Fr%C3%BChling/schuhe`,
        deep_link_value: "/Frühling/schuhe",
        clicks: 0,
        referrer: null,
      });
    }
    expect(reply.headers.get("content-type")).toBe("application/json");
    expect(reply.headers.get("cache-control")).toBe("no-store");
    expect((await world.call("GET", `/links/${link.id}`)).body.clicks).toBe(0);
  });

  test("merges the query parameters of the URL, the link and the short link", async () => {
    const url = "https://example.com/shoes?size=42";
    const link = await world.make("/links", { path: "shoes", url, options: { shorten: true } });
    const short = await world.call("POST", "/short_links", { body: { url: `${host}/shoes?a=1` } });
    const readLink = async (path: string) => (await attribute(`${host}/${path}`)).body.link;
    expect(await readLink("shoes?ref=anna&size=7")).toMatchObject({
      id: link.id,
      url: "https://example.com/shoes?size=42&ref=anna",
      full_url: `${host}/shoes?ref=anna&size=7`,
      deep_link_value: "/shoes",
    });
    expect(await readLink(`${link.shortened_path}?b=2`)).toMatchObject({
      full_url: `${host}/shoes?b=2`,
    });
    expect(await readLink(`${short.body.shortened_path}?b=2`)).toMatchObject({
      full_url: `${host}/shoes?a=1&b=2`,
    });
  });

  test("encodes the returned URLs so that older iOS versions can parse them", async () => {
    await world.call("POST", "/ios_apps", { body: { ios_app: ios } });
    await world.make("/links", {
      path: "schön/a b",
      url: 'https://bücher.example/schöne?a=1|2&b=[{"c"}]&d=100%#ä#b',
      android_fallback_url: "market://details?id=com.a&referrer=a|b",
      ios_fallback_url: "https://[2001:db8::1]:8443/^?x=%e4`",
      social_image_url: "https://img.example/<a>.png",
    });
    const query = "?e=a|b%20c&f={^`}";
    for (const address of [`${host}/sch%C3%B6n/a%20b${query}`, `shop://schön/a b${query}<">ü`]) {
      const reply = await attribute(address);
      const { link } = readAnswer("ios", reply);
      expect(readAnswer("android", reply).link).toEqual(link);
      const more = address.startsWith("shop") ? "%3C%22%3E%C3%BC" : "";
      const handed = `e=a%7Cb%20c&f=%7B%5E%60%7D${more}`;
      expect(link).toMatchObject({
        url:
          "https://xn--bcher-kva.example/sch%C3%B6ne?a=1%7C2&b=%5B%7B%22c%22%7D%5D&d=100%25&" +
          `${handed}#%C3%A4%23b`,
        full_url: `${host}/sch%C3%B6n/a%20b?${handed}`,
        android_fallback_url: "market://details?id=com.a&referrer=a%7Cb",
        ios_fallback_url: "https://[2001:db8::1]:8443/%5E?x=%e4%60",
        social_image_url: "https://img.example/%3Ca%3E.png",
      });
    }
  });

  test("matches a URL that uses the custom scheme of one of the project's apps", async () => {
    await world.call("POST", "/ios_apps", { body: { ios_app: ios } });
    const link = await world.make("/links", { path: "shoes" });
    expect((await attribute("shop://shoes?ref=anna")).body.link).toMatchObject({
      id: link.id,
      full_url: `${host}/shoes?ref=anna`,
    });
    expect((await attribute("other://shoes")).body).toEqual({ matched: false });
  });

  test("matches URLs of up to 8,192 characters", async () => {
    await world.call("POST", "/ios_apps", { body: { ios_app: ios } });
    await world.make("/links", { path: "shoes" });
    for (const address of ["shop://shoes?a=", `${host}/shoes?a=`]) {
      const longest = address.padEnd(8192, "1");
      expect((await attribute(longest)).body.matched).toBe(true);
      expect((await attribute(`${longest}1`)).body).toEqual({ matched: false });
    }
    const many = "a&".repeat(30_000);
    expect((await attribute(`shop://shoes?${many}`)).body).toEqual({ matched: false });
  });

  test('returns "matched": false instead of an error for a URL without a link', async () => {
    await world.make("/links", { path: "shoes" });
    const strange = ["javascript:alert(1)", "content://media/1", "https://", "shop://", "\u0000"];
    const others = ["https://example.com/shoes", `${host}/`, `${host}/%E0%A4`, `${host}/none`];
    for (const url of [...strange, ...others, `http://a:b@default.localhost/shoes`, "x", 7]) {
      const reply = await attribute(url);
      expect([url, reply.status, reply.body]).toEqual([url, 200, { matched: false }]);
      expect(readAnswer("ios", reply).matched).toBe(false);
    }
    for (const body of [{}, { url: "" }]) {
      const reply = await world.call("POST", "/links/attribute", { key: client, body });
      expect(readRefusal(reply)).toEqual([400, "Required parameter is missing: url."]);
    }
  });

  test("does not match another project's links", async () => {
    const other = await world.addProject({ subdomain: "other" });
    const key = await world.addKey({ project: other });
    await world.call("POST", "/ios_apps", { key, body: { ios_app: ios } });
    await world.call("POST", "/links", { key, body: { path: "shoes" } });
    for (const url of ["http://other.localhost:8787/shoes", "shop://shoes"]) {
      expect((await attribute(url)).body).toEqual({ matched: false });
      expect((await attribute(url, {}, await makeClientKey(other.id))).body.matched).toBe(true);
    }
  });

  test("counts an open or an install, but not a click", async () => {
    const link = await world.make("/links", { path: "shoes", options: { shorten: true } });
    await attribute(`${host}/shoes`);
    await attribute(`${host}/${link.shortened_path}`, { platform: "ios" });
    await attribute(`${host}/shoes?wp=qr&a=1`, { is_deferred: true });
    const readRows = async (by: string) =>
      (await world.call("GET", "/link_stats", { query: `by=${by}` })).body.stats.rows;
    expect(await readRows("source")).toMatchObject([
      { key: "address", opens: 1, installs: 0 },
      { key: "short", opens: 1, installs: 0 },
      { key: "reported", opens: 0, installs: 1 },
    ]);
    expect(await readRows("platform")).toMatchObject([
      { key: "android", opens: 1, installs: 1 },
      { key: "ios", opens: 1, installs: 0 },
    ]);
    expect((await world.call("GET", `/links/${link.id}`)).body.clicks).toBe(0);
  });

  test("returns the link's click count when it records an install", async () => {
    noteClick(world.clicks, world.project.id, (await world.make("/links", { path: "shoes" })).id);
    const { body } = await attribute(`${host}/shoes`, { is_deferred: true });
    expect(body.link.clicks).toBe(1);
  });

  test('returns confidence "high" for an install but sends "reported" to webhooks', async () => {
    const { store, project, now } = world;
    const webhook = { id: project.id, url: "https://example.com", events: webhookEvents };
    const tenant = { projectId: project.id };
    await world.make("/links", { path: "shoes" });
    const given = { ...webhook, secret: "whsec_1" };
    await store.write((db) => insertWebhook({ ...tenant, db }, given, now()));
    const { body } = await attribute(`${host}/shoes`, { is_deferred: true });
    expect(body).toMatchObject({ matched: true, confidence: "high" });
    const told = await store.db.selectFrom("deliveries").select("body").execute();
    expect(told.map((row) => JSON.parse(row.body))).toMatchObject([
      { type: "install.matched", data: { confidence: "reported" } },
    ]);
    const { stats } = (await world.call("GET", "/link_stats?by=source")).body;
    expect(stats.rows).toMatchObject([{ key: "reported", installs: 1 }]);
  });

  test("returns 422 for a type error and counts neither an open nor an install", async () => {
    await world.make("/links", { path: "shoes" });
    for (const is_deferred of [true, false]) {
      const reply = await attribute(`${host}/shoes`, { is_deferred, platform: ["android"] });
      expect(reply.status, reply.text).toBe(422);
    }
    const { stats } = (await world.call("GET", "/link_stats")).body;
    expect(stats.total).toMatchObject({ opens: 0, installs: 0 });
  });

  test("matches app opens on every plan, but installs only on the Pro plan", async () => {
    await world.make("/links", { path: "shoes" });
    const install = () => attribute(`${host}/shoes`, { is_deferred: true });
    expect((await install()).body.matched).toBe(true);
    await world.store.write((db) => updateProject(db, world.project.id, { plan: "free" }, 0));
    expect((await install()).body).toEqual({ matched: false });
    expect((await attribute(`${host}/shoes`)).body.matched).toBe(true);
  });
});

describe("a client key", () => {
  test("is rejected by endpoints that are not for app SDKs, with a specific message", async () => {
    const { appSdk: _, ...groups } = served;
    const others = Object.values(groups).flatMap((group) => Object.values<Endpoint>(group));
    expect(others.length).toBeGreaterThan(listEndpoints().length);
    for (const entry of others) {
      const path = entry.path.replace(":id", "0190a000-0000-7000-8000-000000000000");
      for (const method of listMethods(entry)) {
        const reply = await world.call(method, path, { key: client, body: undefined });
        expect([method, path, reply.status]).toEqual([method, path, 401]);
        if (method === "HEAD") continue;
        expect(reply.body.error).toContain("a client key works only for");
      }
    }
  });

  test("is rejected even by public endpoints, whether in a header or in the query", async () => {
    const { shortened_path } = await world.make("/links", {
      path: "shoes",
      options: { shorten: true },
    });
    const body = { url: `${host}/${shortened_path}` };
    const resolve = async (given: object) =>
      (await world.call("POST", "/short_links/resolve", { key: null, body, ...given })).status;
    expect(await resolve({})).toBe(200);
    expect(await resolve({ key: world.key })).toBe(200);
    expect(await resolve({ key: client })).toBe(401);
    expect(await resolve({ headers: { authorization: `Bearer ${client}` } })).toBe(401);
    expect(await resolve({ query: `api_key=${client}` })).toBe(401);
    const readApi = async (key: string) =>
      (await world.call("GET", "/openapi.json", { key })).status;
    expect(await readApi("unknown")).toBe(200);
    expect(await readApi(client)).toBe(401);
  });

  test("is the only key type that POST /links/attribute accepts", async () => {
    await world.make("/links", { path: "shoes" });
    for (const key of [world.key, world.master, "waypost_client_none"]) {
      const reply = await attribute(`${host}/shoes`, {}, key);
      expect(readRefusal(reply)).toEqual([401, expect.stringContaining("keys create --client")]);
    }
    const url = `${origin}${apiPrefix}/links/attribute`;
    for (const shown of [{}, { authorization: "Basic YTpi" }]) {
      const headers = { "content-type": "application/json", ...shown };
      const { status, body } = await world.answer({ method: "POST", url, headers, body: "{}" });
      const error = expect.stringContaining("Authorization: Bearer <CLIENT_KEY>");
      expect([status, body]).toEqual([401, { error }]);
    }
  });

  test("stops working when it is revoked or its project is deleted", async () => {
    await world.make("/links", { path: "shoes" });
    const other = await world.addProject({ subdomain: "other" });
    const theirs = await makeClientKey(other.id);
    expect((await attribute("x", {}, theirs)).status).toBe(200);
    const [key] = await listClientKeys(world.store.db, world.project.id);
    const revoke = (projectId: string) =>
      world.store.write((db) => deleteClientKey({ db, projectId }, key?.id ?? ""));
    expect([await revoke(other.id), await revoke(world.project.id)]).toEqual([false, true]);
    expect((await attribute(`${host}/shoes`)).status).toBe(401);
    expect((await attribute("x", {}, theirs)).status).toBe(200);
    await world.store.write((db) => deleteProject(db, other.id));
    expect((await attribute("x", {}, theirs)).status).toBe(401);
    expect(await listClientKeys(world.store.db)).toEqual([]);
  });

  test("is rejected if its project is suspended", async () => {
    await world.make("/links", { path: "shoes" });
    await world.store.write((db) => updateProject(db, world.project.id, { suspended: true }, 0));
    expect(readRefusal(await attribute(`${host}/shoes`))).toEqual([401, "Account is suspended."]);
  });

  test("shares one rate limit with unknown keys sent from the same IP address", async () => {
    const url = `${origin}${apiPrefix}/links/attribute`;
    const send = async (token: string, address: string) => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
      const body = JSON.stringify({ url: "https://example.com" });
      return (await world.answer({ method: "POST", url, headers, body, address })).status;
    };
    const statuses = new Set<number>();
    for (let turn = 0; turn < 300; turn += 1) {
      statuses.add(await send(client, "203.0.113.9"));
      statuses.add(await send("guess", "203.0.113.9"));
    }
    expect([...statuses]).toEqual([200, 401]);
    expect(await send(client, "203.0.113.9")).toBe(429);
    expect(await send(client, "203.0.113.10")).toBe(200);
  });

  test.each([
    ["", {}],
    [" behind a proxy that is not trusted", { "x-forwarded-for": "198.51.100.7" }],
  ])("can report at most 60 installs per minute from one IP address%s", async (_, more) => {
    await world.make("/links", { path: "shoes" });
    const url = `${origin}${apiPrefix}/links/attribute`;
    const authorization = `Bearer ${client}`;
    const send = async (is_deferred: boolean, address: string) => {
      const headers = { "content-type": "application/json", authorization, ...more };
      const body = JSON.stringify({ url: `${host}/shoes`, is_deferred });
      return (await world.answer({ method: "POST", url, headers, body, address })).status;
    };
    for (let turn = 0; turn < 60; turn += 1) expect(await send(true, "203.0.113.9")).toBe(200);
    expect(await send(true, "203.0.113.9")).toBe(429);
    // Opens have a separate limit, and so does each other address.
    expect(await send(false, "203.0.113.9")).toBe(200);
    expect(await send(true, "203.0.113.10")).toBe(200);
  });

  test("is stored only as a hash", async () => {
    const rows = await world.store.db.selectFrom("client_keys").selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(client.slice("waypost_client_".length));
    expect(client).toMatch(/^waypost_client_\w{40}$/);
  });
});

test("a client key is rejected even by public endpoints if api_key is sent twice", async () => {
  await world.make("/links", { path: "spring" });
  const asked = { key: null, body: { url: `${host}/spring` } };
  for (const keys of [[client], ["other", client], [client, "other"], ["other", ` ${client} `]]) {
    const query = new URLSearchParams(
      keys.map((key): [string, string] => ["api_key", key]),
    ).toString();
    const reply = await world.call("POST", "/short_links/resolve", { ...asked, query });
    expect([reply.status, reply.body]).toEqual([401, { error: messages.client_key_here }]);
  }
  const other = await world.call("POST", "/short_links/resolve", { ...asked, query: "api_key=x" });
  expect(other.status).toBe(200);
});
