import { describe, expect, test } from "vitest";
import { decideVisit, type VisitedLink, type VisitOptions } from "../../src/visit/decide-visit.ts";
import { listPageButtons } from "../../src/visit/page-buttons.ts";
import { android_app, appStore, ios_app, play } from "../contract/sample-link.ts";

/** Fallbacks in a store, and destinations that get the query of a visit. */

function readDestination(platform: "ios" | "android", fields: VisitedLink, options: VisitOptions) {
  const forced = { ...fields, enable_forced_redirect: true };
  const visit = decideVisit(forced, { ios_app, android_app }, { platform }, options);
  return visit.action === "redirect" ? visit.to : undefined;
}

const toStore = (fields: VisitedLink, options: VisitOptions = {}) =>
  readDestination("ios", fields, options);
const toPlay = (fields: VisitedLink, options: VisitOptions = {}) =>
  readDestination("android", fields, options);

describe("a fallback URL that opens an app store", () => {
  const market = "market://details?id=com.example.shop&referrer=a%20b";
  const itms = "itms-apps://apps.apple.com/app/id1?mt=8";
  const query = "id=2";

  test("is used as the destination without the visit's query", () => {
    expect(toPlay({ android_fallback_url: market }, { query })).toBe(market);
    for (const address of [itms, itms.replace("apps:", "appss:"), itms.toUpperCase()]) {
      expect(toStore({ ios_fallback_url: address })).toBe(address);
    }
    const visit = decideVisit({ ios_fallback_url: itms }, {}, { platform: "ios" }, { query });
    expect(visit).toEqual({ action: "redirect", to: itms, reason: "ios_fallback_url" });
  });

  test.each([
    ["ios", { ios_fallback_url: market }],
    ["android", { android_fallback_url: itms }],
    ["desktop", { url: market }],
    ["desktop", { url: itms }],
    ["android", { android_fallback_url: "market:details?id=com.a" }],
    ["android", { android_fallback_url: "market://" }],
    ["android", { android_fallback_url: "market://details?id=a b" }],
    ["android", { android_fallback_url: "market://details\\?id=a" }],
    ["ios", { ios_fallback_url: "itms-apps://evil.example/app" }],
    ["ios", { ios_fallback_url: "itms-apps://apps.apple.com.evil.example/" }],
    ["ios", { ios_fallback_url: "itms-apps://a@apps.apple.com/" }],
    ["ios", { ios_fallback_url: "itms-services://apps.apple.com/" }],
  ] as const)(
    "is ignored if it is malformed or for another platform's store: %s, %j",
    (platform, link) => {
      expect(decideVisit(link, {}, { platform })).toEqual({ action: "default_page" });
    },
  );

  test("gets a button named after the store and is not used as the Open button's fallback", () => {
    const links = [
      ["android", { android_fallback_url: market }, "play_store"],
      ["ios", { ios_fallback_url: itms }, "app_store"],
    ] as const;
    for (const [platform, link, kind] of links) {
      const apps = { ios_app, android_app };
      const whole = { ...link, ios_app_id: "0a", android_app_id: "0b" };
      const visit = decideVisit(whole, apps, { platform });
      const address = "https://go.example/spring";
      const [open, next] = listPageButtons(visit, { platform, apps, address });
      expect(next).toMatchObject({ kind, href: Object.values(link)[0] });
      expect(open?.href).not.toContain("browser_fallback_url");
    }
  });
});

test("a visit's query is added to a web destination, but not to a store page", () => {
  const query = "id=2&own=3";
  const own = "https://shop.example/?own=1#top";
  const handed = "https://shop.example/?own=1&id=2#top";
  expect(decideVisit({ url: own }, {}, { platform: "desktop" }, { query })).toEqual({
    action: "redirect",
    to: handed,
    reason: "url",
  });
  expect(toStore({ ios_fallback_url: own }, { query })).toBe(handed);
  for (const store of [appStore, play, "https://itunes.apple.com/app/id1"]) {
    expect(toStore({ ios_fallback_url: store }, { query })).toBe(store);
  }
  expect(toStore({}, { query })).toBe(appStore);
  expect(toPlay({}, { query })).toBe(play);
});
