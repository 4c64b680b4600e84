import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decideVisit,
  type Destination,
  type OpenButton,
  type Platform,
  type VisitDecision,
  type VisitedApps,
  type VisitedLink,
  type VisitOptions,
} from "../../src/visit/decide-visit.ts";
import { hostileApps, hostileLink, hostileOptions } from "../contract/hostile-link.ts";
import { android_app, appStore, ios_app, play } from "../contract/sample-link.ts";
import { referrerReaders } from "../sdk/recorded.ts";

/** The decision table of visits, row by row. */

const url = "https://shop.example/";
const ios_fallback_url = "https://i.example/";
const android_fallback_url = "https://a.example/";
const enable_forced_redirect = true;
const schemeButton: OpenButton = { by: "custom_scheme", scheme: "shop" };
const intentButton: OpenButton = {
  by: "intent",
  package_name: "com.example.shop",
  scheme: null,
};

function redirect(to: string, reason: Destination["reason"]): VisitDecision {
  return { action: "redirect", to, reason };
}

type Row = readonly [string, Platform, VisitedLink, VisitedApps, VisitDecision];

describe("decideVisit", () => {
  const nowhere: VisitDecision = { action: "default_page" };
  const forced = { enable_forced_redirect };
  const rows: readonly Row[] = [
    [
      "the iOS fallback URL before all others for a forced redirect",
      "ios",
      { ...forced, url, ios_fallback_url },
      { ios_app },
      redirect(ios_fallback_url, "ios_fallback_url"),
    ],
    [
      "the App Store for a forced redirect without an iOS fallback URL",
      "ios",
      { ...forced, url },
      { ios_app },
      redirect(appStore, "app_store"),
    ],
    [
      "the web URL for a forced redirect on iOS without a store page",
      "ios",
      { ...forced, url },
      { ios_app: { ...ios_app, app_store_id: null } },
      redirect(url, "url"),
    ],
    [
      "the default page for a forced redirect on iOS without a web URL",
      "ios",
      { ...forced },
      { ios_app: { ...ios_app, app_store_id: null } },
      nowhere,
    ],
    [
      "the Android fallback URL before all others for a forced redirect",
      "android",
      { ...forced, url, android_fallback_url },
      { android_app },
      redirect(android_fallback_url, "android_fallback_url"),
    ],
    [
      "Google Play for a forced redirect without an Android fallback URL",
      "android",
      { ...forced, url },
      { android_app },
      redirect(play, "play_store"),
    ],
    [
      "the web URL for a forced redirect on Android if the app could not be read",
      "android",
      { ...forced, url, android_app_id: "0b" },
      {},
      redirect(url, "url"),
    ],
    [
      "the iOS fallback URL before the web URL if the link has no iOS app",
      "ios",
      { url, ios_fallback_url, android_fallback_url },
      { android_app },
      redirect(ios_fallback_url, "ios_fallback_url"),
    ],
    [
      "the web URL on iOS if the link has no iOS app or fallback URL",
      "ios",
      { url, android_fallback_url },
      { android_app },
      redirect(url, "url"),
    ],
    [
      "the default page on iOS if the link has no iOS app or usable URL",
      "ios",
      { android_fallback_url },
      { android_app },
      nowhere,
    ],
    [
      "the Android fallback URL before the web URL if the link has no Android app",
      "android",
      { url, ios_fallback_url, android_fallback_url },
      { ios_app },
      redirect(android_fallback_url, "android_fallback_url"),
    ],
    [
      "the web URL on Android if the link has no Android app or fallback URL",
      "android",
      { url, ios_fallback_url },
      { ios_app },
      redirect(url, "url"),
    ],
    [
      "the default page on Android if the link has no Android app or usable URL",
      "android",
      { ios_fallback_url },
      { ios_app },
      nowhere,
    ],
    [
      "the web URL on a desktop, whatever apps the link has",
      "desktop",
      { url, ios_fallback_url },
      { ios_app, android_app },
      redirect(url, "url"),
    ],
    [
      "the default page on a desktop if the link has no web URL",
      "desktop",
      { ...forced, ios_fallback_url, android_fallback_url },
      { ios_app, android_app },
      nowhere,
    ],
  ];
  test.each(rows)("chooses %s", (_, platform, fields, apps, visit) => {
    expect(decideVisit(fields, apps, { platform })).toEqual(visit);
  });

  test.each(rows.filter(([, , fields]) => fields.enable_forced_redirect !== true))(
    "still chooses %s with enable_forced_redirect",
    (_, platform, fields, apps, visit) => {
      const changed = { ...fields, enable_forced_redirect };
      expect(decideVisit(changed, apps, { platform })).toEqual(visit);
    },
  );

  test.each([
    [
      "the iOS fallback URL",
      "ios",
      { ios_fallback_url },
      { to: ios_fallback_url, reason: "ios_fallback_url" },
    ],
    ["the App Store", "ios", {}, { to: appStore, reason: "app_store" }],
    [
      "the Android fallback URL",
      "android",
      { android_fallback_url },
      { to: android_fallback_url, reason: "android_fallback_url" },
    ],
    ["Google Play", "android", {}, { to: play, reason: "play_store" }],
  ] as const)("returns the preview page with a button to %s", (_, platform, fields, next) => {
    const open = platform === "ios" ? schemeButton : intentButton;
    for (const forced of [false, null, undefined]) {
      const draft: VisitedLink = { url, ...fields, enable_forced_redirect: forced };
      expect(decideVisit(draft, { ios_app, android_app }, { platform })).toEqual({
        action: "preview_page",
        open,
        next,
      });
    }
  });

  test("returns the preview page if the link's app could not be read", () => {
    const draft = { ios_app_id: "0a", url };
    expect(decideVisit(draft, {}, { platform: "ios" })).toEqual({
      action: "preview_page",
      open: undefined,
      next: { to: url, reason: "url" },
    });
    expect(decideVisit({ ios_app_id: "0a" }, {}, { platform: "ios" })).toMatchObject({
      action: "preview_page",
      next: undefined,
    });
  });

  test("returns the page with social tags for a bot", () => {
    for (const platform of ["ios", "android", "desktop"] as const) {
      for (const enable_forced_redirect of [true, false]) {
        const visited = { url, enable_forced_redirect };
        expect(decideVisit(visited, { ios_app, android_app }, { platform, bot: true })).toEqual({
          action: "tags_page",
        });
      }
    }
  });

  test("returns the default page for an empty link", () => {
    for (const platform of ["ios", "android", "desktop"] as const) {
      expect(decideVisit({}, {}, { platform })).toEqual({ action: "default_page" });
    }
  });
});

describe("the destination", () => {
  test("contains both campaign tokens or neither if it is an App Store URL", () => {
    expect(toStore({ provider_token: "117", campaign_token: "a b&c" })).toBe(
      `${appStore}?pt=117&ct=a%20b%26c&mt=8`,
    );
    expect(toStore({ provider_token: "117" })).toBe(appStore);
    expect(toStore({ campaign_token: "spring", provider_token: " " })).toBe(appStore);
    expect(toStore({}, { ...ios_app, app_store_id: "id 123-456" })).toBe(
      "https://apps.apple.com/app/id123456",
    );
  });

  test("contains the referrer if it is a Google Play URL", () => {
    expect(toPlay({ referrer: "utm_source=a&b=é" })).toBe(
      `${play}&referrer=utm_source%3Da%26b%3D%C3%A9`,
    );
    expect(toPlay({ referrer: " " })).toBe(play);
  });

  test("contains the link's URL if it is a Google Play URL and link_in_referrer is on", () => {
    const address = "https://go.example/spring?é=>>>???";
    const fields = { referrer: "utm_source=a" };
    const referrer = readReferrer(toPlay(fields, { link_in_referrer: true, address }));
    expect(referrer).toMatch(/^_url=[\w-]+&url=[^&=?]+$/);
    for (const readTold of Object.values(referrerReaders)) {
      expect(readTold(referrer)).toBe(address);
    }
    expect(toPlay(fields, { link_in_referrer: true })).toBe(play);
    expect(toPlay(fields, { address })).toBe(`${play}&referrer=utm_source%3Da`);
  });

  test("contains a long link URL only once, in the encoding that most SDKs read", () => {
    const short = visitLong(50);
    expect(referrerReaders["1.0.0 and 1.0.1"](short.referrer)).toBe(short.address);
    for (let letters = 50; letters < 200; letters += 1) {
      const { address, to, referrer } = visitLong(letters);
      expect(referrerReaders["1.0.2 and 1.0.3"](referrer)).toBe(address);
      if (referrer.includes("&url=")) expect(to.length).toBeLessThanOrEqual(2048);
    }
    const long = visitLong(200);
    expect(long.referrer).toMatch(/^_url=[\w-]+$/);
  });

  test("is exactly the link's fallback URL", () => {
    const ios_fallback_url = "HTTPS://Shop.example/a/../%7e?x=<y>#z";
    expect(toStore({ ios_fallback_url, provider_token: "1", campaign_token: "2" })).toBe(
      ios_fallback_url,
    );
    expect(toStore({ ios_fallback_url: "https://shop.example" })).toBe("https://shop.example");
  });

  test("is the encoded form of a fallback URL with non-ASCII characters", () => {
    expect(toStore({ ios_fallback_url: "https://bücher.example/ä?ö#ü" })).toBe(
      "https://xn--bcher-kva.example/%C3%A4?%C3%B6#%C3%BC",
    );
  });

  test.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "//evil.example",
    "shop.example",
    "https://good.example@evil.example",
    "https://a.example/\r\nSet-Cookie: x",
    "https://good.example\\@evil.example",
    "shop://x",
    "",
    "https://",
  ])("is never an invalid web URL: %j", (bad) => {
    expect(toStore({ ios_fallback_url: bad })).toBe(appStore);
    expect(toPlay({ android_fallback_url: bad })).toBe(play);
    expect(decideVisit({ url: bad }, {}, { platform: "desktop" })).toEqual({
      action: "default_page",
    });
  });

  test("is not Google Play if the package name is invalid", () => {
    const bad = { ...android_app, package_name: "com.example&id=evil.app" };
    const visit = decideVisit({ url }, { android_app: bad }, { platform: "android" });
    expect(visit).toEqual({
      action: "preview_page",
      open: undefined,
      next: { to: url, reason: "url" },
    });
  });
});

describe("the Open button", () => {
  test("uses the second host name if iOS or Android can verify the app", () => {
    const options = { second_host: true };
    expect(button("ios", { ios_app }, options)).toEqual({ by: "second_host" });
    expect(button("android", { android_app }, options)).toEqual({ by: "second_host" });
    expect(button("ios", { ios_app: { ...ios_app, team_id: "short" } }, options)).toEqual(
      schemeButton,
    );
    const sha1 = { ...android_app, fingerprints: ["AB:CD"] };
    expect(button("android", { android_app: sha1 }, options)).toEqual(intentButton);
  });

  test("uses an iOS app's custom scheme and is omitted if the app has none", () => {
    expect(button("ios", { ios_app })).toEqual(schemeButton);
    expect(button("ios", { ios_app: { ...ios_app, custom_scheme: null } })).toBeUndefined();
  });

  test("uses an intent for an Android app, with the app's custom scheme if it is set", () => {
    expect(button("android", { android_app })).toEqual(intentButton);
    expect(
      button("android", { android_app: { ...android_app, custom_scheme: "shop://" } }),
    ).toEqual({ ...intentButton, scheme: "shop" });
  });

  test.each(["javascript", "data:x", "a b", "https", "intent"])(
    "never uses the scheme %j",
    (scheme) => {
      expect(button("ios", { ios_app: { ...ios_app, custom_scheme: scheme } })).toBeUndefined();
      expect(button("android", { android_app: { ...android_app, custom_scheme: scheme } })).toEqual(
        intentButton,
      );
    },
  );
});

test("visitors of any link are redirected only to the web or their platform's store", () => {
  fc.assert(
    fc.property(hostileLink(), hostileApps(), hostileOptions(), (visited, apps, options) => {
      for (const platform of ["ios", "android", "desktop"] as const) {
        const visit = decideVisit(visited, apps, { platform }, options);
        const to = readAddress(visit);
        const open = visit.action === "preview_page" ? visit.open : undefined;
        if (open?.by === "custom_scheme") expect(`${open.scheme}:`).toMatch(/^[a-z][\w+.-]*:$/i);
        if (to === undefined) continue;
        const { protocol, host, username } = new URL(to);
        const stores = { ios: ["itms-apps:", "itms-appss:"], android: ["market:"], desktop: [] };
        expect(["http:", "https:", ...stores[platform]]).toContain(protocol);
        expect(username).toBe("");
        expect(to).toMatch(/^[\x21-\x7e]+$/);
        const reason = visit.action === "redirect" ? visit.reason : readNext(visit)?.reason;
        if (reason === "app_store") expect(host).toBe("apps.apple.com");
        if (reason === "play_store") expect(host).toBe("play.google.com");
      }
    }),
    { numRuns: 300 },
  );
});

function readNext(visit: VisitDecision): Destination | undefined {
  return visit.action === "preview_page" ? visit.next : undefined;
}

function readAddress(visit: VisitDecision): string | undefined {
  return visit.action === "redirect" ? visit.to : readNext(visit)?.to;
}

function toStore(fields: VisitedLink, app = ios_app): string | undefined {
  const forced = { ...fields, enable_forced_redirect };
  return readAddress(decideVisit(forced, { ios_app: app }, { platform: "ios" }));
}

function toPlay(fields: VisitedLink, options: VisitOptions = {}): string | undefined {
  const forced = { ...fields, enable_forced_redirect };
  return readAddress(decideVisit(forced, { android_app }, { platform: "android" }, options));
}

function visitLong(letters: number) {
  const address = `https://go.example/spring?id=${"%C3%BC".repeat(letters)}`;
  const to = toPlay({}, { link_in_referrer: true, address }) ?? "";
  return { address, to, referrer: readReferrer(to) };
}

function readReferrer(address: string | undefined): string {
  return new URL(address ?? "").searchParams.get("referrer") ?? "";
}

function button(platform: Platform, apps: VisitedApps, options?: VisitOptions) {
  const visit = decideVisit({}, apps, { platform }, options);
  return visit.action === "preview_page" ? visit.open : "no preview page";
}
