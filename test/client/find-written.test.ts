import { describe, expect, test } from "vitest";
import { contract } from "../../src/contract/index.ts";
import type { LinkFields } from "../../src/contract/links.ts";
import { createWorld } from "../support/world.ts";
import { createClientWithFaults, createTimedClient, type ClientWithFaults } from "./clients.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests when a lookup proves that a call without a response was done. */

const { links, shortLinks } = contract;

let at: ClientWithFaults;
/** Actions of other clients, one for each wait. */
let otherActions: (() => Promise<unknown>)[];

async function sleep(milliseconds: number): Promise<void> {
  at.advance(milliseconds);
  await otherActions.shift()?.();
}

openForEach(
  () => createClientWithFaults({ sleep }),
  (opened) => ([at, otherActions] = [opened, []]),
);

const everything: LinkFields = {
  path: "/caf%C3%A9",
  name: "Café",
  url: "https://example.com/?q=1",
  social_title: "",
  social_description: "text",
  social_image_url: "https://example.com/x.png",
  ios_fallback_url: "https://example.com/ios",
  android_fallback_url: null,
  enable_forced_redirect: true,
  referrer: "utm_source=x",
  ios_deferred_deep_linking_enabled: true,
  provider_token: "1",
  campaign_token: "spring",
  ios_app: { bundle_id: "com.example.ios", team_id: "TEAM000001" },
  android_app: { package_name: "com.example.droid", fingerprints: ["aa:bb"] },
  options: { shorten: true },
};

const unknown = {
  code: "outcome_unknown",
  facts: { effect: "unknown", retry: "never" },
};

describe("a link creation without a response", () => {
  test("is reported as successful if a lookup finds a link with the same fields", async () => {
    at.hostile.plan({ writes: ["reset after"] });
    expect(await at.client.call(links.create, everything)).toMatchObject({
      path: "café",
      social_title: null,
      shortened_path: expect.any(String),
    });
    expect(at.hostile.carriedOut.filter((line) => line.startsWith("POST"))).toHaveLength(1);
  });

  test.each([
    { name: "Other" },
    { social_title: "Now there is one" },
    { android_fallback_url: "https://example.com/android" },
    { enable_forced_redirect: false },
    { campaign_token: "autumn", provider_token: "1" },
    { ios_app: null },
    { android_app: null },
    { ios_app: { bundle_id: "com.example.other", team_id: "TEAM000001" } },
  ] satisfies LinkFields[])(
    "is not reported as successful if a field of the found link differs: %j",
    async (change) => {
      at.hostile.plan({ writes: ["reset after"] });
      otherActions.push(async () => {
        const { body } = await at.world.call("GET", "/links");
        await at.world.call("PATCH", `/links/${body.links[0].id}`, { body: change });
      });
      await expect(at.client.call(links.create, everything)).rejects.toMatchObject({
        ...unknown,
        message: expect.stringMatching(
          /Checked: the link with the path café exists \([0-9a-f-]{36}\), but its fields differ\.$/,
        ),
      });
    },
  );

  test.each([
    ["an ID", (id: string) => ({ ios_app: { id: id.toUpperCase() } })],
    ["a bundle ID", () => ({ ios_app: { bundle_id: "a.b" } })],
    ["null", () => ({ ios_app: null })],
  ])("is reported as successful if the call gives the app as %s", async (_, choose) => {
    const app = await at.world.call("POST", "/ios_apps", {
      body: { ios_app: { bundle_id: "a.b", team_id: "TEAM000001" } },
    });
    at.hostile.plan({ writes: ["reset after"] });
    const fields = { path: "spring", ...choose(app.body.id) };
    expect(await at.client.call(links.create, fields)).toMatchObject({ path: "spring" });
  });

  test("is not reported as successful if the matching link is older than the call", async () => {
    await at.world.call("POST", "/links", { body: { path: "spring", name: "Spring" } });
    at.advance(1);
    at.hostile.plan({ writes: ["reset"] });
    await expect(
      at.client.call(links.create, { path: "spring", name: "Spring" }),
    ).rejects.toMatchObject({
      ...unknown,
      message: expect.stringContaining("exists as requested, but may be older than this call"),
    });
  });

  test.each([-60_000, 60_000])(
    "has an unknown effect if the server's clock differs by %i ms, even if the link is found",
    async (ahead_ms) => {
      at.hostile.setAhead(ahead_ms);
      at.hostile.plan({ writes: ["reset after"] });
      await expect(at.client.call(links.create, { path: "spring" })).rejects.toMatchObject({
        ...unknown,
        message: expect.stringContaining("exists as requested, but may be older than this call"),
      });
    },
  );

  test("is not reported as successful if the found link has an unrequested app", async () => {
    at.hostile.plan({ writes: ["reset after"] });
    otherActions.push(async () => {
      const { body } = await at.world.call("GET", "/links");
      const change = { ios_app: { bundle_id: "a.b", team_id: "TEAM000001" } };
      await at.world.call("PATCH", `/links/${body.links[0].id}`, { body: change });
    });
    await expect(
      at.client.call(links.create, { path: "spring", ios_app: null }),
    ).rejects.toMatchObject(unknown);
  });

  test("is not looked up if the call contained no path", async () => {
    at.hostile.plan({ writes: ["reset after"] });
    await expect(at.client.call(links.create, { name: "Spring" })).rejects.toMatchObject({
      ...unknown,
      message: expect.stringContaining("Checked: nothing, because no path was sent."),
    });
    expect(at.hostile.received).toEqual(["POST /links"]);
  });

  test("is found by a later lookup if the server saved the link late", async () => {
    at.hostile.plan({ writes: ["busy"] });
    const come = () => at.world.call("POST", "/links", { body: { path: "spring" } });
    otherActions.push(nothing, nothing, come);
    expect(await at.client.call(links.create, { path: "spring" })).toMatchObject({
      path: "spring",
    });
    expect(at.waits).toEqual([500, 2000, 4000]);
  });

  test("is not looked up again after the call's time limit", async () => {
    at.hostile.plan({ writes: ["reset"] });
    const oversleep = () => Promise.resolve(at.advance(20_000));
    otherActions.push(oversleep, oversleep, oversleep);
    await expect(at.client.call(links.create, { path: "spring" })).rejects.toMatchObject(unknown);
    expect(at.hostile.received).toEqual(["POST /links", "GET /links", "GET /links"]);
  });

  test("is looked up only within 45 seconds after the start of the call", async () => {
    at.hostile.plan({ writes: ["stall"], reads: Array(20).fill("stall") });
    await expect(at.client.call(links.create, { path: "spring" })).rejects.toMatchObject(unknown);
    expect(at.elapsed()).toBeLessThanOrEqual(45_000);
    expect(at.hostile.received.length).toBeGreaterThan(1);
  });
});

test("a lookup compares the paths of links, in case the server ignores filters", async () => {
  await using world = await createWorld();
  await world.call("POST", "/links", { body: { path: "winter" } });
  const { client } = createTimedClient({
    world,
    fetch: async (request) => {
      if (request.method === "POST") throw new Error("lost");
      return world.fetch(new Request(request.url.replace(/\?.*/, ""), request));
    },
  });
  await expect(client.call(links.create, { path: "spring" })).rejects.toMatchObject({
    ...unknown,
    message: expect.stringContaining("the link with the path spring does not exist yet"),
  });
});

test("after a shorten_link call without a response, no link is looked up", async () => {
  at.hostile.plan({ writes: ["reset after"] });
  const url = "https://example.com/";
  await expect(at.client.call(shortLinks.create, { url })).rejects.toMatchObject({
    ...unknown,
    message: expect.stringContaining("Checked: nothing, because it cannot be looked up."),
  });
  expect(at.hostile.received).toEqual(["POST /short_links"]);
});

test("an upsert_link call with shorten fails if a lookup finds no short path", async () => {
  await makeLink();
  at.hostile.plan({ writes: ["reset"] });
  const fields = { path: "a", options: { shorten: true } };
  await expect(at.client.call(links.upsert, fields)).rejects.toMatchObject(unknown);
});

describe("an update whose retry is rejected", () => {
  test("is reported as rejected if a lookup shows that the first try failed", async () => {
    const id = await makeLink();
    at.hostile.plan({ writes: ["busy"] });
    await expect(at.client.call(links.update, { id, url: "ftp://x" })).rejects.toMatchObject({
      name: "Problem",
      status: 422,
    });
  });

  test("is reported as successful if a lookup shows that the first try succeeded", async () => {
    const id = await makeLink();
    at.hostile.plan({ writes: ["reset after", "echo_401"] });
    expect(await at.client.call(links.update, { id, name: "New" })).toMatchObject({ name: "New" });
  });

  test("is reported with an unknown effect if the lookup fails", async () => {
    const id = await makeLink();
    at.hostile.plan({ writes: ["reset after", "echo_401"], reads: ["echo_401"] });
    await expect(at.client.call(links.update, { id, name: "New" })).rejects.toMatchObject({
      code: "outcome_unknown",
      message: expect.stringMatching(/The server rejected a second attempt: .* Checked: nothing/),
      facts: { effect: "unknown", retry: "later" },
    });
  });

  test("is reported as not found if the record was deleted before the retry", async () => {
    const id = await makeLink();
    at.hostile.plan({ writes: ["reset"] });
    otherActions.push(() => at.world.call("DELETE", `/links/${id}`));
    await expect(at.client.call(links.update, { id, name: "New" })).rejects.toMatchObject({
      status: 404,
    });
  });
});

function nothing(): Promise<void> {
  return Promise.resolve();
}

async function makeLink(): Promise<string> {
  return (await at.world.call("POST", "/links", { body: { path: "a" } })).body.id;
}
