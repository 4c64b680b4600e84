import { describe, expect, test } from "vitest";
import type { VisitedLink } from "../../src/visit/decide-visit.ts";
import { explainInstalls, type InstallOptions } from "../../src/visit/explain-link.ts";

/** Whether an install is matched to the link that was visited before, and why not. */

const apps = {
  ios_app: { bundle_id: "com.example", team_id: "ABCDE12345", app_store_id: "1" },
  android_app: {
    package_name: "com.example",
    fingerprints: [Array.from({ length: 32 }, () => "AB").join(":")],
  },
};
const link = { url: "https://example.com", ios_deferred_deep_linking_enabled: true };
const options = { link_in_referrer: true, address: "https://a.example/spring" };

test("explainInstalls describes how installs of a link's iOS and Android apps are matched", () => {
  const { installs } = explainInstalls(link, apps, options);
  expect(installs.ios).toMatchObject({ matched: "by_likeness" });
  expect(installs.android).toMatchObject({ matched: "exactly" });
});

test("explainInstalls says that reading the clipboard makes an iOS match exact", () => {
  const { ios } = explainInstalls(link, apps, { ...options, clipboard: true }).installs;
  expect(ios).toEqual({
    matched: "by_likeness",
    why: expect.stringContaining("If the app reads the clipboard, the match is exact"),
  });
});

describe("explainInstalls with the clipboard setting", () => {
  const { app_store_id: _, ...unlisted } = apps.ios_app;
  const there = "because the App Store button copies the link's address";
  const perhaps = "if the page has an App Store button";
  test.each([
    ["mentions the copied URL if the app is in the App Store", {}, apps, there],
    [
      "mentions the copied URL if the fallback URL is in the App Store",
      { ios_fallback_url: "itms-apps://apps.apple.com/app/id1" },
      apps,
      there,
    ],
    [
      "does not mention the clipboard if the fallback URL is on the web",
      { ios_fallback_url: "https://example.com/get" },
      apps,
      undefined,
    ],
    [
      "does not mention the clipboard if the app is not in the App Store",
      {},
      { ios_app: unlisted },
      undefined,
    ],
    [
      "mentions a possible App Store button if the app could not be read",
      { ios_app_id: "1" },
      {},
      perhaps,
    ],
    [
      "does not mention the clipboard if the app is unreadable and the fallback URL is on the web",
      { ios_app_id: "1", ios_fallback_url: "https://example.com/get" },
      {},
      undefined,
    ],
  ])("%s", (_, fields, known, said) => {
    const given = { ...options, clipboard: true };
    const { ios } = explainInstalls({ ...link, ...fields }, known, given).installs;
    expect(ios.matched).toBe("by_likeness");
    if (said === undefined) expect(ios.why).not.toMatch(/exact|clipboard/);
    else expect(ios.why).toContain(said);
  });
});

function explain(fields: VisitedLink, more: InstallOptions = {}) {
  const unread = { ...link, android_app_id: "2", ...fields };
  return explainInstalls(unread, {}, { ...options, ...more }).installs.android;
}

describe("explainInstalls for an uncertain match", () => {
  test("reports a failure to load the Android app, but only if a match is possible", () => {
    expect(explain({})).toEqual({
      matched: "not_known",
      why: "The link's Android app could not be read.",
    });
    const fallback = { android_fallback_url: "https://example.com/get" };
    expect(explain(fallback).matched).toBe("never");
    expect(explain({}, { link_in_referrer: false }).why).toContain("is off");
    expect(explain({}, { plan: "free" }).matched).toBe("never");
  });

  test("reports that the project's settings are unknown", () => {
    const { android } = explainInstalls(link, apps, {}).installs;
    expect(android).toEqual({
      matched: "not_known",
      why:
        'It works if the project\'s "Link in Referrer" setting is on. The API does not show that ' +
        "setting.",
    });
  });
});

describe("explainInstalls for an impossible match", () => {
  test.each([
    ["deferred deep linking is off", { ios_deferred_deep_linking_enabled: false }, "is off"],
    ["the preview page is skipped", { enable_forced_redirect: true }, "skips"],
  ])("reports on iOS that %s", (_, fields, why) => {
    const { ios } = explainInstalls({ ...link, ...fields }, apps, options).installs;
    expect(ios).toEqual({ matched: "never", why: expect.stringContaining(why) });
  });

  test("reports that the link has no iOS app or that the project is not on the Pro plan", () => {
    const none = explainInstalls(link, {}, options).installs;
    expect(none.ios.why).toBe("The link has no iOS app.");
    const free = explainInstalls(link, apps, { ...options, plan: "free" }).installs;
    expect([free.ios.why, free.android.why]).toEqual([
      "Deferred deep linking needs the Pro plan.",
      "Deferred deep linking needs the Pro plan.",
    ]);
  });

  test("reports on Android that Google Play does not get the link's URL", () => {
    const { android } = explainInstalls(link, apps, { link_in_referrer: false }).installs;
    expect(android.why).toContain('"Link in Referrer" setting is off');
    const fields = { ...link, android_fallback_url: "https://example.com/get" };
    const withFallback = explainInstalls(fields, apps, options).installs.android;
    expect(withFallback).toEqual({ matched: "never", why: expect.stringContaining("fallback") });
  });
});

describe("explainInstalls for in-app browsers", () => {
  const sentOn = "visitors are redirected at once";
  const leave = "the preview page says how to leave them";
  const open = `${leave}, and has a button that opens the app`;
  const { ios_app, android_app } = apps;
  const { url } = link;

  test.each([
    ["with both apps", { url }, apps, `on iOS ${leave}; on Android ${open}.`],
    ["that redirects", { url, enable_forced_redirect: true }, apps, `: ${sentOn}.`],
    ["without an app", { url }, {}, `: ${sentOn}.`],
    ["with only an iOS app", { url }, { ios_app }, `on iOS ${leave}; on Android ${sentOn}.`],
    ["with only an Android app", { url }, { android_app }, `on iOS ${sentOn}; on Android ${open}.`],
    ["without a destination", {}, {}, ": visitors see the project's default page."],
    [
      "whose apps could not be read",
      { url, ios_app_id: "1", android_app_id: "2" },
      {},
      `on iOS ${leave}; on Android ${open}.`,
    ],
    [
      "whose app is not registered yet",
      { url, android_app: { package_name: "com.example" } },
      {},
      `on iOS ${sentOn}; on Android ${open}.`,
    ],
  ])("describes what visitors of a link %s see", (_, fields, known, ways) => {
    const { in_app_browsers } = explainInstalls(fields, known);
    expect(in_app_browsers).toContain("do not open the app by themselves");
    expect(in_app_browsers.endsWith(ways), in_app_browsers).toBe(true);
  });
});
