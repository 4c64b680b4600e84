import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideVisit, type VisitDecision } from "../../src/visit/decide-visit.ts";
import { explainVisits, explanation } from "../../src/visit/explain-link.ts";
import { hostileApps, hostileLink, hostileOptions } from "../contract/hostile-link.ts";
import {
  android_app,
  appStore,
  ios_app,
  link,
  play,
  sha1,
  sha256,
} from "../contract/sample-link.ts";

/** What an assistant learns about the visitors of a link. */

const both = { ios_app, android_app };
const exceptions = "in-app browsers, and taps on a page of the link's own domain, get without_app";
const forced = "enable_forced_redirect skips the preview page";

describe("explainVisits", () => {
  test("describes visits on a phone with the app, on a phone without it, and on a desktop", () => {
    expect(explainVisits(link, both)).toEqual({
      visits: {
        ios: {
          with_app: {
            action: "open_app",
            why: `iOS opens the app. Exceptions: ${exceptions}.`,
          },
          without_app: {
            action: "preview_page",
            to: `${appStore}?pt=117&ct=spring&mt=8`,
            why: "The preview page has an Open button and a button to the App Store.",
          },
        },
        android: {
          with_app: {
            action: "open_app",
            why: `Android opens the app. Exceptions: ${exceptions}.`,
          },
          without_app: {
            action: "preview_page",
            to: `${play}&referrer=utm_source%3Da`,
            why: "The preview page has an Open button and a button to Google Play.",
          },
        },
        desktop: {
          action: "redirect",
          to: "https://shop.example/",
          why: "Desktop visitors, and Safari on an iPad, go to the link's url.",
        },
      },
      problems: [],
    });
  });

  test("says that a forced redirect skips the preview page, but not the app", () => {
    const { visits } = explainVisits({ ...link, enable_forced_redirect: true }, both);
    expect(visits.ios).toMatchObject({
      with_app: { action: "open_app" },
      without_app: {
        action: "redirect",
        to: `${appStore}?pt=117&ct=spring&mt=8`,
        why: `${forced}, so visitors go to the App Store.`,
      },
    });
    expect(visits.android.without_app).toMatchObject({
      action: "redirect",
      to: `${play}&referrer=utm_source%3Da`,
    });
  });

  test("describes the same redirect with and without an app if the link has no app", () => {
    const draft = { url: "https://shop.example/", android_fallback_url: "https://a.example/" };
    const { visits } = explainVisits(draft, {});
    expect(visits.ios.without_app).toEqual({
      action: "redirect",
      to: "https://shop.example/",
      why: "The link has no iOS app, so visitors go to the link's url.",
    });
    expect(visits.ios.with_app).toEqual({
      ...visits.ios.without_app,
      why: "The link has no iOS app. Links without any app stay in the browser.",
    });
    expect(explainVisits({ ...draft, android_app_id: "0a" }, {}).visits.ios.with_app.why).toBe(
      "The link has no iOS app, but another app in the project may open it.",
    );
    expect(visits.android.without_app).toMatchObject({ to: "https://a.example/" });
  });

  test.each(["short", "abcde12345"])(
    "says that an app that cannot be verified does not open: %s",
    (team_id) => {
      const apps = {
        ios_app: { ...ios_app, team_id },
        android_app: { ...android_app, fingerprints: [sha1] },
      };
      const { visits } = explainVisits(link, apps);
      expect(visits.ios.with_app).toEqual({
        ...visits.ios.without_app,
        why: "iOS cannot verify the app, so the link opens in the browser.",
      });
      expect(visits.android.with_app).toEqual({
        action: "preview_page",
        to: `${play}&referrer=utm_source%3Da`,
        why: "Android cannot verify the app, so the link opens in the browser.",
      });
    },
  );

  test("treats the apps in an unsaved link as registered", () => {
    const draft = {
      ios_app: { bundle_id: "com.example.shop", team_id: "ABCDE12345", app_store_id: "id123" },
      android_app: { package_name: "com.example.shop", fingerprints: [sha256] },
    };
    const { visits } = explainVisits(draft, {});
    expect(visits.ios.with_app.action).toBe("open_app");
    expect(visits.ios.without_app.to).toBe("https://apps.apple.com/app/id123");
    expect(visits.android.with_app.action).toBe("open_app");
    expect(visits.desktop).toEqual({
      action: "default_page",
      why: "Desktop visitors have no destination, so they see the project's default page.",
    });
  });

  test("assumes that an app that could not be read can be opened", () => {
    for (const draft of [{ ios_app_id: "0a" }, { ios_app: { id: "0a" } }]) {
      expect(explainVisits(draft, {}).visits.ios).toEqual({
        with_app: expect.objectContaining({ action: "open_app" }),
        without_app: {
          action: "preview_page",
          why: "The preview page has an Open button and no other button.",
        },
      });
    }
  });
});

describe("explainVisits, whatever the fields contain", () => {
  test("returns a valid explanation with only web and store URLs", () => {
    fc.assert(
      fc.property(hostileLink(), hostileApps(), hostileOptions(), (visited, apps, options) => {
        const explained = explainVisits(visited, apps, options);
        // Strictly: a missing value has no key either.
        expect(explanation.parse(JSON.parse(JSON.stringify(explained)))).toStrictEqual(explained);
        const { ios, android, desktop } = explained.visits;
        const told = [
          [ios.with_app.to, "https?|itms-appss?"],
          [ios.without_app.to, "https?|itms-appss?"],
          [android.with_app.to, "https?|market"],
          [android.without_app.to, "https?|market"],
          [desktop.to, "https?"],
        ] as const;
        for (const [to, schemes] of told) {
          const pattern = RegExp(`^(?:${schemes})://[\\x21-\\x7e]+$`, "i");
          if (to !== undefined) expect(to).toMatch(pattern);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("describes the decision that decideVisit makes", () => {
    fc.assert(
      fc.property(hostileLink(), hostileApps(), hostileOptions(), (visited, apps, options) => {
        const { ios_app: _, android_app: __, ...record } = visited;
        const { ios, android, desktop } = explainVisits(record, apps, options).visits;
        const told = { ios: ios.without_app, android: android.without_app, desktop };
        for (const platform of ["ios", "android", "desktop"] as const) {
          const visit = decideVisit(record, apps, { platform }, options);
          const { action, to } = told[platform];
          expect({ action, to }).toEqual({ action: visit.action, to: readAddress(visit) });
        }
      }),
      { numRuns: 300 },
    );
  });

  test("never repeats a field's value outside a URL", () => {
    fc.assert(
      fc.property(hostileLink(), hostileApps(), (visited, apps) => {
        const { visits, problems } = explainVisits(visited, apps);
        const { ios, android, desktop } = visits;
        const told = [ios.with_app, ios.without_app, android.with_app, android.without_app];
        const words = [
          ...[...told, desktop].map(({ why }) => why),
          ...problems.flatMap(({ field, message, fix }) => [field, message, fix]),
        ];
        for (const text of words) expect(text ?? "").toMatch(/^[\w ,.:;'()-]*$/);
      }),
    );
  });
});

function readAddress(visit: VisitDecision): string | undefined {
  if (visit.action === "redirect") return visit.to;
  return visit.action === "preview_page" ? visit.next?.to : undefined;
}
