import { describe, expect, test } from "vitest";
import type { VisitedLink } from "../../src/visit/decide-visit.ts";
import { explainInstalls, type InstallOptions } from "../../src/visit/explain-installs.ts";

/** Whether an install is told of the link that was visited before, and why not. */

const apps = {
  ios_app: { bundle_id: "com.example", team_id: "ABCDE12345", app_store_id: "1" },
  android_app: {
    package_name: "com.example",
    fingerprints: [Array.from({ length: 32 }, () => "AB").join(":")],
  },
};
const link = { url: "https://example.com", ios_deferred_deep_linking_enabled: true };
const options = { link_in_referrer: true, address: "https://a.example/spring" };

test("on both systems, where all is set for it", () => {
  const { installs } = explainInstalls(link, apps, options);
  expect(installs.ios).toMatchObject({ matched: "by_likeness" });
  expect(installs.android).toMatchObject({ matched: "exactly" });
});

test("exactly on iOS too, where the project hands it over by the clipboard", () => {
  const { ios } = explainInstalls(link, apps, { ...options, clipboard: true }).installs;
  expect(ios).toEqual({
    matched: "by_likeness",
    why: expect.stringContaining("If the app reads the clipboard, the match is exact"),
  });
});

describe("what the App Store button copies is told where there is that button", () => {
  const { app_store_id: _, ...unlisted } = apps.ios_app;
  const there = "because the App Store button copies the link's address";
  const perhaps = "if the page has an App Store button";
  test.each([
    ["of the app", {}, apps, there],
    [
      "of a fallback in the App Store",
      { ios_fallback_url: "itms-apps://apps.apple.com/app/id1" },
      apps,
      there,
    ],
    ["but of none on the web", { ios_fallback_url: "https://example.com/get" }, apps, undefined],
    ["but not where the app has no page there", {}, { ios_app: unlisted }, undefined],
    ["perhaps, of an app that is not at hand", { ios_app_id: "1" }, {}, perhaps],
    [
      "but not of that one, with a fallback",
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

/** Of a link whose Android app is not at hand. */
function explain(fields: VisitedLink, more: InstallOptions = {}) {
  const unread = { ...link, android_app_id: "2", ...fields };
  return explainInstalls(unread, {}, { ...options, ...more }).installs.android;
}

describe("not known, with the reason", () => {
  test("of an Android app that is not at hand, unless it is never all the same", () => {
    expect(explain({})).toEqual({
      matched: "not_known",
      why: "The link's Android app could not be read.",
    });
    const fallback = { android_fallback_url: "https://example.com/get" };
    expect(explain(fallback).matched).toBe("never");
    expect(explain({}, { link_in_referrer: false }).why).toContain("is off");
    expect(explain({}, { plan: "free" }).matched).toBe("never");
  });

  test("of a project whose settings are not told", () => {
    const { android } = explainInstalls(link, apps, {}).installs;
    expect(android).toEqual({
      matched: "not_known",
      why:
        'It works if the project\'s "Link in Referrer" setting is on. The API does not show that ' +
        "setting.",
    });
  });
});

describe("never, with the reason", () => {
  test.each([
    ["off", { ios_deferred_deep_linking_enabled: false }, "is off"],
    ["without a page", { enable_forced_redirect: true }, "skips"],
  ])("on iOS where it is %s", (_, fields, why) => {
    const { ios } = explainInstalls({ ...link, ...fields }, apps, options).installs;
    expect(ios).toEqual({ matched: "never", why: expect.stringContaining(why) });
  });

  test("on iOS without an app, and on the free plan on both", () => {
    const none = explainInstalls(link, {}, options).installs;
    expect(none.ios.why).toBe("The link has no iOS app.");
    const free = explainInstalls(link, apps, { ...options, plan: "free" }).installs;
    expect([free.ios.why, free.android.why]).toEqual([
      "Deferred deep linking needs the Pro plan.",
      "Deferred deep linking needs the Pro plan.",
    ]);
  });

  test("on Android where Google Play is told nothing", () => {
    const { android } = explainInstalls(link, apps, { link_in_referrer: false }).installs;
    expect(android.why).toContain('"Link in Referrer" setting is off');
    const fields = { ...link, android_fallback_url: "https://example.com/get" };
    const elsewhere = explainInstalls(fields, apps, options).installs.android;
    expect(elsewhere).toEqual({ matched: "never", why: expect.stringContaining("fallback") });
  });
});

describe("an in-app browser opens no app by itself, and tells of a page where there is one", () => {
  const sentOn = "visitors are redirected at once";
  const leave = "the preview page says how to leave them";
  const open = `${leave}, and has a button that opens the app`;
  const { ios_app, android_app } = apps;
  const { url } = link;

  test.each([
    ["with both apps", { url }, apps, `on iOS ${leave}; on Android ${open}.`],
    ["that redirects", { url, enable_forced_redirect: true }, apps, `: ${sentOn}.`],
    ["without an app", { url }, {}, `: ${sentOn}.`],
    ["of iOS alone", { url }, { ios_app }, `on iOS ${leave}; on Android ${sentOn}.`],
    ["of Android alone", { url }, { android_app }, `on iOS ${sentOn}; on Android ${open}.`],
    ["that leads nowhere", {}, {}, ": visitors see the project's default page."],
    [
      "whose app is not at hand",
      { url, ios_app_id: "1", android_app_id: "2" },
      {},
      `on iOS ${leave}; on Android ${open}.`,
    ],
    [
      "whose app is made with it",
      { url, android_app: { package_name: "com.example" } },
      {},
      `on iOS ${sentOn}; on Android ${open}.`,
    ],
  ])("of a link %s", (_, fields, known, ways) => {
    const { in_app_browsers } = explainInstalls(fields, known);
    expect(in_app_browsers).toContain("do not open the app by themselves");
    expect(in_app_browsers.endsWith(ways), in_app_browsers).toBe(true);
  });
});
