import { describe, expect, test } from "vitest";
import { updateProject } from "../../src/store/projects.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests that addresses of an app store are accepted only for the platform of the store. */

const market = "market://details?id=com.example.app&referrer=a%20b";
const appStore = "itms-apps://apps.apple.com/app/id123?mt=8";

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const allow = (destinations: string) =>
  world.store.write((db) => updateProject(db, world.project.id, { destinations }, 0));
const create = (body: object) => world.call("POST", "/links", { body });

test.each([
  ["android_fallback_url", market],
  ["android_fallback_url", "MARKET://search?q=pub:Shop"],
  ["ios_fallback_url", appStore],
  ["ios_fallback_url", "itms-appss://itunes.apple.com/de/app/shop/id123"],
])("%s can be %s and is stored unchanged", async (field, address) => {
  const { status, body } = await create({ [field]: address });
  expect([status, body[field]]).toEqual([201, address]);
});

const notWeb = "must be an http or https address";
const noPlay = "must be a Google Play address";
const noAppStore = "must be an App Store address";

describe("a link", () => {
  test.each([
    ["url", market, `Url ${notWeb} (market: is for android_fallback_url)`],
    ["url", appStore, `Url ${notWeb} (itms-apps: is for ios_fallback_url)`],
    [
      "social_image_url",
      market,
      `Social image url ${notWeb} (market: is for android_fallback_url)`,
    ],
    [
      "ios_fallback_url",
      market,
      `Ios fallback url ${notWeb} (market: is for android_fallback_url)`,
    ],
    [
      "android_fallback_url",
      appStore,
      `Android fallback url ${notWeb} (itms-apps: is for ios_fallback_url)`,
    ],
    ["android_fallback_url", "market:details?id=a", `Android fallback url ${noPlay}`],
    ["android_fallback_url", "market://", `Android fallback url ${noPlay}`],
    ["android_fallback_url", "market://a@evil.example/", `Android fallback url ${noPlay}`],
    ["android_fallback_url", "amzn://apps/android?p=a", `Android fallback url ${notWeb}`],
    ["ios_fallback_url", "itms-apps://evil.example/", `Ios fallback url ${noAppStore}`],
    ["ios_fallback_url", "itms-apps://evilapple.com/", `Ios fallback url ${noAppStore}`],
    ["ios_fallback_url", "itms-services://?url=x", `Ios fallback url ${notWeb}`],
    ["android_fallback_url", `${market}\r\n`, "Android fallback url contains control characters"],
    ["android_fallback_url", `${market} b`, "Android fallback url can't contain white space"],
  ])("is rejected if its %s is %j", async (field, address, error) => {
    const reply = await create({ [field]: address });
    expect([reply.status, reply.body]).toEqual([422, { error }]);
  });

  test("cannot have an app store URL if the project does not allow the store's host", async () => {
    await allow("shop.example");
    const reply = await create({ android_fallback_url: market });
    expect([reply.status, reply.body.error]).toEqual([
      422,
      "Android fallback url must point to one of the allowed hosts (shop.example), " +
        "not to play.google.com",
    ]);
    await allow("play.google.com");
    expect((await create({ android_fallback_url: market })).status).toBe(201);
  });
});
