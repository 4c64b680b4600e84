import { describe, expect, test } from "vitest";
import { dropEndedVisits } from "../../src/store/installs.ts";
import { updateProject } from "../../src/store/projects.ts";
import type { Store } from "../../src/store/store.ts";
import { insertWebhook } from "../../src/store/webhooks.ts";
import { agents } from "../attribution/agents.ts";
import { iosFirstLaunch, iosFirstLaunchBare, iosOpened } from "../sdk/recorded.ts";
import { readAnswer, readRefusal } from "../sdk/readers.ts";
import { createGate, waitUntil } from "../support/clock.ts";
import {
  openLinkHost,
  homeIp,
  openInstallWorld,
  details,
  type PhoneVisit,
  type InstallWorld,
} from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests that an app installed after a visit to a link's page is matched to the visit once. */

const office = "93.184.216.99";
let host: InstallWorld;
openForEach(openInstallWorld, (opened) => {
  host = opened;
});

const open: InstallWorld["open"] = (...given) => host.open(...given);
const visit: InstallWorld["visitPage"] = (...given) => host.visitPage(...given);
const install: InstallWorld["install"] = (...given) => host.install(...given);
const match: InstallWorld["match"] = (...given) => host.match(...given);
const rows = () => host.listRows();
const refuse = async (body: string) =>
  readRefusal(await install(homeIp, { ...iosFirstLaunch, body }));

describe("an app installed after a visit", () => {
  test("receives the link with the visit's parameters, but only once", async () => {
    expect((await visit("/spring?ref=anna")).status).toBe(204);
    expect(await match()).toEqual({
      matched: true,
      confidence: "medium",
      match_score: 100,
      link: expect.objectContaining({
        id: host.link.id,
        url: "https://example.com/spring?ref=anna",
        full_url: expect.stringMatching(/\/spring\?ref=anna$/),
        deep_link_value: "/spring",
      }),
    });
    expect(await match()).toMatchObject({ matched: false });
  });

  test("gets the same response to a repeated request and is counted as one install", async () => {
    await addWebhook();
    await visit("/spring?ref=anna");
    const first = readAnswer("ios", await install());
    expect(first).toMatchObject({ matched: true, confidence: "medium" });
    host.world.advance(9 * 60_000);
    for (const by of [host.world.answer, host.startAnother()]) {
      expect(readAnswer("ios", await install(office, iosFirstLaunch, by))).toEqual(first);
    }
    expect(await countInstalls()).toBe(1);
    expect(await listTold()).toHaveLength(1);
    host.world.advance(60_000);
    expect(readAnswer("ios", await install())).toMatchObject({ matched: false });
  });

  test("gets the same response to a repeated request even after the visit expires", async () => {
    await visit();
    host.world.advance(10 * 60_000 - 2000);
    const first = readAnswer("ios", await install());
    expect(first).toMatchObject({ matched: true });
    host.world.advance(50_000);
    await dropEndedVisits(host.world.store, host.world.now());
    expect(readAnswer("ios", await install())).toEqual(first);
    host.world.advance(10_000);
    expect(readAnswer("ios", await install())).toMatchObject({ matched: false });
  });

  test("gets the same response to two concurrent requests", async () => {
    await visit();
    const answers = await Promise.all([
      install(),
      install(homeIp, iosFirstLaunch, host.startAnother()),
    ]);
    const [first, second] = answers.map((answer) => readAnswer("ios", answer));
    expect(first).toMatchObject({ matched: true });
    expect(second).toEqual(first);
    expect(await countInstalls()).toBe(1);
  });

  test("is not matched a second time if its requests omit the phone's name", async () => {
    await visit();
    for (const matched of [true, false]) {
      const answer = readAnswer("ios", await install(homeIp, iosFirstLaunchBare));
      expect(answer).toMatchObject({ matched });
    }
  });

  test("receives the link's click count", async () => {
    await visit();
    expect((await match()).link).toMatchObject({ clicks: 1 });
  });

  test("is matched with low confidence if the visited page's script did not run", async () => {
    await open("/spring");
    await waitUntil(async () => (await rows()).length === 1);
    expect(await match()).toMatchObject({ matched: true, confidence: "low" });
  });

  test("is matched by the copied URL even if another visitor has an identical phone", async () => {
    const { store, project } = host.world;
    await store.write((db) => updateProject(db, project.id, { clipboard: true }, host.world.now()));
    const relay = { from: "172.226.3.4" };
    const pages = [await visit("/spring", relay), await visit("/spring", relay)];
    for (const { page } of pages) {
      const [, copied = ""] = /writeText\("([^"]*)"\)/.exec(page.text) ?? [];
      const pasted = iosOpened(copied);
      const paste = async () => readAnswer("ios", await install(relay.from, pasted));
      const first = await paste();
      expect(first).toMatchObject({ matched: true, confidence: "high" });
      // Any user with the app can open the link with this address.
      expect(await paste()).toEqual(first);
    }
    expect(await countInstalls()).toBe(2);
    expect(await match(relay.from)).toMatchObject({ matched: false });
  });

  test("gets the link of a copied URL after the visit expires, but is not counted", async () => {
    const { page } = await visit("/spring?ref=anna");
    const [, id = ""] = /visit:"([^"]+)"/.exec(page.text) ?? [];
    host.world.advance(10 * 60_000);
    const pasted = iosOpened(`${host.origin}/spring?ref=anna&wp=paste-${id}`);
    expect(readAnswer("ios", await install(homeIp, pasted))).toMatchObject({
      matched: true,
      link: { url: "https://example.com/spring?ref=anna" },
    });
    expect(await countInstalls()).toBe(0);
  });

  test("on the free plan is matched by a copied URL and leaves the visit available", async () => {
    const { store, project, now } = host.world;
    const setPlan = (plan: "free" | "pro") =>
      store.write((db) => updateProject(db, project.id, { plan }, now()));
    const { id } = await visit();
    await setPlan("free");
    const pasted = iosOpened(`${host.origin}/spring?wp=paste-${id}`);
    expect(readAnswer("ios", await install(homeIp, pasted)).matched).toBe(true);
    await setPlan("pro");
    expect(await match()).toMatchObject({ matched: true });
  });

  test("gets only the query parameters that two visits to the link have in common", async () => {
    await visit("/spring?ref=anna&fbclid=1");
    await visit("/spring?fbclid=2&ref=anna");
    const { matched, link } = await match();
    expect([matched, link?.["url"]]).toEqual([true, "https://example.com/spring?ref=anna"]);
    expect(await match()).toMatchObject({ matched: false });
  });

  test("is not matched to a visit that was recorded before the clock was set back", async () => {
    await visit();
    host.world.advance(-60 * 60_000);
    expect(await match()).toMatchObject({ matched: false });
    const { store, now } = host.world;
    await dropEndedVisits(store, now());
    expect(await rows()).toEqual([]);
  });

  test("is not matched after ten minutes, when the visit expires and is deleted", async () => {
    await visit();
    host.world.advance(10 * 60_000);
    expect(await match()).toMatchObject({ matched: false });
    const { store, now } = host.world;
    await dropEndedVisits(store, now() - 1);
    expect(await rows()).toHaveLength(1);
    await dropEndedVisits(store, now());
    expect(await rows()).toEqual([]);
  });

  test("is matched only once, even if the link page was loaded twice", async () => {
    await visit();
    await visit();
    expect(await match()).toMatchObject({ matched: true });
    expect(await match()).toMatchObject({ matched: false });
  });

  test("is not matched to a visit from a different phone or IP address", async () => {
    await visit("/spring", {}, { ...details, screen_width: 430 });
    await visit("/spring", { from: "93.184.216.99" });
    expect(await match()).toMatchObject({ matched: false });
  });

  test("is not matched if identical phones visited two different links", async () => {
    const { ios_app_id } = (await host.world.call("GET", `/links/${host.link.id}`)).body;
    const fields = { ios_app: { id: ios_app_id }, ios_deferred_deep_linking_enabled: true };
    await host.add("link", { path: "summer", ...fields });
    await visit("/spring");
    await visit("/summer");
    expect(await match()).toMatchObject({ matched: false });
  });

  test.each(["10.0.0.7", "100.64.1.1", "172.226.3.4", "2a02:26f7:1::1", "174.200.1.1"])(
    "is matched with low confidence and without the query if its IP address is shared: %s",
    async (shared) => {
      await visit("/spring?ref=anna", { from: shared });
      const { matched, confidence, link } = await match(shared);
      expect([matched, confidence]).toEqual([true, "low"]);
      expect(link?.["url"]).toBe("https://example.com/spring");
      expect(link?.["full_url"]).not.toContain("anna");
    },
  );
});

async function findNothing(path: string, given: PhoneVisit = {}): Promise<void> {
  const { page, status } = await visit(path, given);
  expect(page.text).not.toContain("<script");
  expect(page.headers["content-security-policy"] ?? "").not.toContain("script-src");
  expect(status).toBe(405);
  expect(await rows()).toEqual([]);
}

const change = (fields: object) =>
  host.world.call("PATCH", `/links/${host.link.id}`, { body: fields });

describe("a visit", () => {
  test("is not stored if the link has no deferred linking or always redirects", async () => {
    await change({ ios_deferred_deep_linking_enabled: false });
    await findNothing("/spring");
    await change({ ios_deferred_deep_linking_enabled: true, enable_forced_redirect: true });
    await findNothing("/spring");
  });

  test("is neither stored nor matched on the free plan", async () => {
    await visit();
    const { store, project } = host.world;
    await store.write((db) => updateProject(db, project.id, { plan: "free" }, 0));
    expect(await match()).toMatchObject({ matched: false });
    await store.write((db) => db.deleteFrom("deferred_visits").execute());
    await findNothing("/spring");
  });

  test("is not stored for bots, computers, Android phones or prefetches", async () => {
    for (const agent of [agents.desktop, agents.android, "Twitterbot/1.0"]) {
      await findNothing("/spring", { agent });
    }
    await findNothing("/spring", { headers: { "sec-purpose": "prefetch" } });
    await open("/spring", { method: "HEAD" });
    expect(await rows()).toEqual([]);
  });

  test("is not stored when a page is previewed", async () => {
    const body = { link_id: host.link.id };
    const headers = { "user-agent": agents.safari26 };
    const page = await host.world.call("POST", "/page_template/preview", { body, headers });
    // The script in the preview does not send anything.
    expect([page.status, page.text.includes("<script")]).toEqual([200, true]);
    expect(await rows()).toEqual([]);
  });
});

describe("reports of visits and installs", () => {
  test("are rejected with 405 if they contain no visit ID issued by the link's page", async () => {
    const send = (body: object | undefined, headers: Record<string, string> = {}) =>
      open("/spring", { method: "POST", headers, ...(body && { body }) });
    const { id } = await visit();
    const [row] = await rows();
    expect((await send({ visit: id, screen_width: "wide", languages: 7 })).status).toBe(204);
    const others = [
      // No page has this visit ID.
      send({ visit: "a".repeat(22) }),
      send({ visit: `${id.slice(0, 7)}z${id.slice(8)}` }),
      send({ visit: "short" }),
      send({}),
      send({ visit: id }, { "content-type": "text/plain" }),
      send({ visit: id }, { "sec-fetch-site": "cross-site" }),
      send({ visit: id, more: "x".repeat(5000) }),
      open("/none", { method: "POST", body: { visit: id } }),
    ];
    for (const one of others) expect((await one).status).toBe(405);
    expect(await rows()).toMatchObject([{ id, ends_at: row?.ends_at }]);
  });

  test("do not renew a visit that has already been matched or has expired", async () => {
    const { id } = await visit();
    const again = () => open("/spring", { method: "POST", body: { visit: id, ...details } });
    expect(await match()).toMatchObject({ matched: true });
    expect((await again()).status).toBe(204);
    expect(await match()).toMatchObject({ matched: false });
    host.world.advance(9 * 60_000);
    const { id: second } = await visit();
    await open("/spring", { method: "POST", body: { visit: second, ...details } });
    host.world.advance(10 * 60_000);
    await dropEndedVisits(host.world.store, host.world.now());
    for (const visited of [id, second]) {
      const body = { visit: visited, ...details };
      expect((await open("/spring", { method: "POST", body })).status).toBe(405);
    }
    expect(await rows()).toEqual([]);
    expect(await match()).toMatchObject({ matched: false });
  });

  test("create at most 120 visits per minute from one IP address", async () => {
    for (let turn = 0; turn < 130; turn += 1) await visit(`/spring?n=${turn}`, {}, {});
    expect((await rows()).length).toBeLessThanOrEqual(120);
  });

  test("can create more than 120 visits per minute from a shared IP address", async () => {
    for (let turn = 0; turn < 130; turn += 1) {
      await visit(`/spring?n=${turn}`, { from: "172.226.3.4" }, {});
    }
    expect((await rows()).length).toBe(130);
  });

  test("are rejected by /fingerprints/match only if they lack a fingerprint object", async () => {
    for (const body of [
      '{"fingerprint":{"screen_width":"x"}}',
      '{"fingerprint":{},"platform":7}',
      '{"fingerprint":{"timezone":"constructor"}}',
      '{"fingerprint":{"timezone":"__proto__"}}',
    ]) {
      expect(readAnswer("ios", await install(homeIp, { ...iosFirstLaunch, body }))).toMatchObject({
        matched: false,
      });
    }
    expect(await refuse("{}")).toEqual([400, expect.any(String)]);
    expect(await refuse('{"fingerprint":"x"}')).toEqual([422, expect.any(String)]);
  });
});

test("an install is sent only to webhooks that exist when the install is matched", async () => {
  const { project } = host.world;
  await visit("/spring?n=1");
  await match();
  expect(await listTold()).toEqual([]);
  await addWebhook();
  await visit("/spring?n=2");
  await match();
  const [delivery] = await listTold();
  expect(JSON.parse(delivery?.body ?? "")).toMatchObject({
    type: "install.matched",
    data: {
      project_id: project.id,
      link: { id: host.link.id },
      platform: "ios",
      confidence: "medium",
      match_score: 100,
    },
  });
});

async function addWebhook(): Promise<void> {
  const { store, project, now } = host.world;
  const events = ["install.matched"] as const;
  const webhook = { id: project.id, url: "https://example.com/hook", events, secret: "whsec_1" };
  await store.write((db) => insertWebhook({ db, projectId: project.id }, webhook, now()));
}

const listTold = () => host.world.store.db.selectFrom("deliveries").select("body").execute();

async function countInstalls(): Promise<number> {
  const { body } = await host.world.call("GET", "/link_stats?by=day");
  return body.stats.total.installs;
}

test("an install request that timed out with 503 does not use up a visit", async () => {
  const { store, advance } = host.world;
  await visit();
  const [asked, over] = [createGate(), createGate()];
  const held: Store["write"] = (work, options) => {
    asked.open();
    return over.opened.then(() => store.write(work, options));
  };
  const late = install(homeIp, iosFirstLaunch, host.startAnother({ ...store, write: held }));
  await asked.opened;
  advance(10_000);
  expect((await late).status).toBe(503);
  over.open();
  expect(await match()).toMatchObject({ matched: true });
});

test("a stored visit contains the phone's properties and IP address only as hashes", async () => {
  await visit("/spring?ref=anna");
  const [row] = await rows();
  const text = JSON.stringify(row);
  for (const word of [homeIp, "393x852", "Berlin", "iphone", "gregory", "de-de"]) {
    expect(text.toLowerCase()).not.toContain(word.toLowerCase());
  }
  expect(row).toMatchObject({ link_id: host.link.id, query: "ref=anna", is_shared: 0 });
});

test("an app that sends only a few of its phone's properties is still matched", async () => {
  await visit();
  expect(readAnswer("ios", await install(homeIp, iosFirstLaunchBare)).matched).toBe(true);
});

test("a visit is stored without an IP address if a proxy hides the address", async () => {
  await using open_host = await openLinkHost();
  const { visit: go, world } = open_host;
  const app = { bundle_id: "com.example.shop", team_id: "ABCDE12345", app_store_id: "1" };
  const fields = { path: "a", ios_app: app, ios_deferred_deep_linking_enabled: true };
  await open_host.add("link", fields);
  await go("/a", { agent: agents.safari26, headers: { "x-forwarded-for": homeIp } });
  const { db } = world.store;
  const find = () => db.selectFrom("deferred_visits").select("address").execute();
  await waitUntil(async () => (await find()).length === 1);
  expect(await find()).toEqual([{ address: null }]);
});
