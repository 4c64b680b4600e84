import { describe, expect, test } from "vitest";
import type { AndroidApp, IosApp } from "../../src/contract/apps.ts";
import type { VisitedApps, VisitedLink, VisitOptions } from "../../src/visit/decide-visit.ts";
import { explainVisits } from "../../src/visit/explain-link.ts";
import { android_app, ios_app, link, sha1, sha256 } from "../contract/sample-link.ts";

/** The problems of a link and its apps, as assistants see them. */

type Row = {
  readonly problem: readonly [string, string, string?];
  readonly of: VisitedLink;
  readonly apps?: VisitedApps;
  readonly options?: VisitOptions;
};

const both = { ios_app, android_app };
const withIos = (fields: Partial<IosApp>) => ({ ...both, ios_app: { ...ios_app, ...fields } });
const withAndroid = (fields: Partial<AndroidApp>) => ({
  ...both,
  android_app: { ...android_app, ...fields },
});
const noStore = withIos({ app_store_id: null });
const noScheme = withIos({ custom_scheme: null });
const noTokens = { provider_token: null, campaign_token: null };
const ios_fallback_url = "https://i.example/";
const android_fallback_url = "https://a.example/";

const askStore = "Ask the user for app_store_id";
const askStoreId = "ask the user for app_store_id";
const askPrints = "Ask the user for all SHA-256 fingerprints";

const rows: readonly Row[] = [
  {
    of: { url: null },
    apps: noStore,
    problem: [
      "ios_fallback_url",
      "iOS visitors without the app have nowhere to go.",
      `Set ios_fallback_url or url, or ${askStoreId}, then update the app.`,
    ],
  },
  {
    of: { url: null, ios_app_id: null },
    apps: { android_app },
    problem: [
      "ios_fallback_url",
      "iOS visitors have nowhere to go.",
      "Set ios_fallback_url or url.",
    ],
  },
  {
    of: { url: null, android_app_id: null },
    apps: { ios_app },
    problem: [
      "android_fallback_url",
      "Android visitors have nowhere to go.",
      "Set android_fallback_url or url.",
    ],
  },
  {
    of: { url: null, enable_forced_redirect: true },
    apps: noStore,
    problem: [
      "enable_forced_redirect",
      "With enable_forced_redirect, iOS visitors without the app have nowhere to go.",
      `Set ios_fallback_url or url, or ${askStoreId}, then update the app.`,
    ],
  },
  {
    of: {},
    apps: noStore,
    problem: [
      "ios_app.app_store_id",
      "The app has no App Store ID, so iOS visitors without the app go to the link's url.",
      `${askStore}, then update the app, or set ios_fallback_url.`,
    ],
  },
  {
    of: { url: null },
    problem: [
      "url",
      "Desktop visitors see the project's default page, because url is not set.",
      "Set url.",
    ],
  },
  {
    of: { campaign_token: null },
    problem: [
      "provider_token",
      "Provider token must be sent together with campaign token",
      "Set both provider_token and campaign_token, or clear both.",
    ],
  },
  {
    of: { ios_fallback_url },
    problem: [
      "provider_token",
      "The store tokens have no effect: iOS visitors go to ios_fallback_url.",
    ],
  },
  {
    of: {},
    apps: noStore,
    problem: [
      "provider_token",
      "The store tokens have no effect: iOS visitors do not go to the App Store.",
    ],
  },
  ...["x".repeat(31), "spring ", " spring"].map((campaign_token): Row => ({
    of: { campaign_token },
    problem: [
      "campaign_token",
      "Apple accepts campaign tokens of at most 30 characters, without a space at either end.",
      "Set another campaign_token.",
    ],
  })),
  {
    of: {},
    options: { link_in_referrer: true },
    problem: [
      "referrer",
      'referrer is ignored, because the project\'s "Link in Referrer" setting is on.',
      "Put the parameters in the query of the link's address.",
    ],
  },
  {
    of: { android_fallback_url },
    problem: ["referrer", "referrer has no effect: Android visitors go to android_fallback_url."],
  },
  {
    of: { android_app_id: null },
    apps: { ios_app },
    problem: ["referrer", "referrer has no effect: Android visitors do not go to Google Play."],
  },
  {
    of: {},
    apps: { ios_app: { ...ios_app, team_id: "abcde12345" } },
    problem: [
      "ios_app.team_id",
      "The Team ID is not ten capital letters and digits, so iOS will not open the app.",
      "Ask the user for the Team ID, then update the app.",
    ],
  },
  {
    of: {},
    apps: withAndroid({ fingerprints: [sha1] }),
    problem: [
      "android_app.fingerprints",
      "Android will ignore all fingerprints and not open the app: it needs SHA-256 (32 pairs).",
      "Ask the user for all SHA-256 fingerprints, then update the app.",
    ],
  },
  {
    of: {},
    apps: withAndroid({ fingerprints: [sha256, sha1] }),
    problem: [
      "android_app.fingerprints",
      "Android will ignore 1 of 2 fingerprints: it needs SHA-256 (32 pairs).",
      "Ask the user for all SHA-256 fingerprints, then update the app.",
    ],
  },
  {
    of: {},
    apps: withAndroid({ fingerprints: [] }),
    problem: [
      "android_app.fingerprints",
      "Fingerprints can't be blank",
      "Ask the user for fingerprints, then update the app.",
    ],
  },
  {
    of: {},
    apps: withIos({ team_id: "" }),
    problem: [
      "ios_app.team_id",
      "Team is the wrong length (should be 10 characters)",
      "Ask the user for team_id, then update the app.",
    ],
  },
  {
    of: {},
    apps: noScheme,
    problem: [
      "ios_app.custom_scheme",
      "The preview page cannot open the app without a custom_scheme, because it is on the link's " +
        "own domain.",
      "Ask the user for the app's custom_scheme, then set it.",
    ],
  },
  {
    of: { ios_app_id: null },
    apps: { android_app },
    problem: [
      "ios_deferred_deep_linking_enabled",
      "Deferred deep linking has no effect, because the link has no iOS app.",
      "Set ios_app.",
    ],
  },
  {
    of: { enable_forced_redirect: true },
    problem: [
      "ios_deferred_deep_linking_enabled",
      "Deferred deep linking needs the preview page, which enable_forced_redirect skips.",
      "Set only one of the two to true.",
    ],
  },
  {
    of: {},
    apps: { ios_app },
    problem: [
      "android_app",
      "The Android app could not be read, so its store page and fields were not checked.",
      "Look for it in the list of Android apps.",
    ],
  },
  {
    of: {},
    options: { address: "https://SHOP.example?utm_source=a" },
    problem: [
      "url",
      "url is the link's own address: visitors would be redirected in a loop.",
      "Set another url.",
    ],
  },
  ...["url", "ios_fallback_url", "android_fallback_url", "social_image_url"].map((field): Row => ({
    of: { [field]: "HTTP://shop.example/" },
    problem: [field, `${field} uses http, not https.`, `Set an https ${field}.`],
  })),
];

describe("checking a saved link", () => {
  test.each(rows)(
    "reports a problem in $problem.0: $problem.1 ($of)",
    ({ of, apps = both, options, problem }) => {
      expect(
        listProblems(explainVisits({ ...link, ...of }, apps, options).problems),
      ).toContainEqual(problem);
    },
  );

  test.each<Partial<Row>>([
    { of: { name: null, ...noTokens } },
    // The server accepted this path.
    { of: { path: "100%/.." } },
    {
      of: { enable_forced_redirect: true, ios_deferred_deep_linking_enabled: false },
      apps: noScheme,
    },
    { apps: noScheme, options: { second_host: true } },
    { of: { ios_fallback_url, ...noTokens }, apps: noStore },
    { of: { campaign_token: "x".repeat(30) } },
    { options: { address: "https://shop.example/other" } },
    { options: { address: "spring" } },
    {
      of: { social_image_url: "https://go.example/x" },
      options: { address: "https://go.example/x" },
    },
  ])("reports no problem if the link is set up correctly: %j", ({ of, apps = both, options }) => {
    expect(explainVisits({ ...link, ...of }, apps, options).problems).toEqual([]);
  });

  test("reports only one problem for each app that could not be read", () => {
    const { problems } = explainVisits({ ...link, url: null }, {});
    expect(problems.map(({ field }) => field)).toEqual(["ios_app", "android_app", "url"]);
  });
});

describe("checking an unsaved link", () => {
  test.each<readonly [string, VisitedLink, string]>([
    ["path", { path: ".well-known/x" }, "Path is reserved"],
    ["path", { path: "a%" }, "Path has invalid percent-encoding"],
    ["path", { path: "a/../b" }, "Path can't contain the segments . or .."],
    ["url", { url: "javascript:alert(1)" }, "Url must be an http or https address"],
    ["url", { url: "http://a@b.example/" }, "Url can't contain a user name or password"],
    [
      "ios_fallback_url",
      { ios_fallback_url: "https://a@b.example" },
      "Ios fallback url can't contain a user name or password",
    ],
    [
      "social_image_url",
      { social_image_url: "a.png" },
      "Social image url must be an http or https address",
    ],
    ["name", { name: "x".repeat(501) }, "Name is too long (maximum is 500 characters)"],
    [
      "ios_app",
      { ios_app: { id: "a", bundle_id: "b" } },
      "Ios app needs exactly one of id or bundle_id",
    ],
    ["android_app", { android_app: {} }, "Android app needs exactly one of id or package_name"],
  ])(
    "reports exactly one problem, in %s, with the API's error message: %j",
    (field, fields, message) => {
      const { problems } = explainVisits({ url: "https://shop.example/", ...fields }, {});
      expect(problems).toEqual([{ field, message }]);
    },
  );

  test("reports an invalid fallback URL without also reporting a missing destination", () => {
    const ios_fallback_url = "https://a b.example/";
    const fields = { url: null, ios_fallback_url, android_fallback_url };
    expect(listDraftProblems(fields).map(([field]) => field)).toEqual(["ios_fallback_url", "url"]);
  });

  test("reports a problem if only one of the two campaign tokens is set", () => {
    expect(listDraftProblems({ campaign_token: "spring" })).toEqual([
      [
        "campaign_token",
        "Campaign token must be sent together with provider token",
        "Set both provider_token and campaign_token, or clear both.",
      ],
    ]);
    expect(listDraftProblems({ provider_token: "a\0", campaign_token: "b" })).toContainEqual([
      "provider_token",
      "Provider token contains characters that can't be stored",
    ]);
  });

  test("reports missing and invalid fields of the link's new apps", () => {
    const draft = {
      ios_app: { bundle_id: "com.example.shop" },
      android_app: { package_name: "shop", fingerprints: [sha1] },
    };
    expect(listDraftProblems(draft).map(([field, , fix]) => [field, fix])).toEqual([
      ["ios_app.team_id", "Ask the user for team_id, then correct ios_app."],
      ["ios_app.app_store_id", `${askStore}, then correct ios_app, or set ios_fallback_url.`],
      ["android_app.package_name", "Ask the user for package_name, then correct android_app."],
      ["ios_app.custom_scheme", "Ask the user for the app's custom_scheme, then set it."],
      ["android_app.fingerprints", `${askPrints}, then correct android_app.`],
    ]);
  });

  test("reports that new field values for an already registered app are ignored", () => {
    const ios = { bundle_id: "com.example.shop", team_id: "ABCDE12345", app_store_id: "5" };
    const android = { package_name: "com.example.shop", fingerprints: [sha256.toLowerCase()] };
    expect(listDraftProblems({ ios_app: ios, android_app: android }, both)).toEqual([
      [
        "ios_app",
        "The app is already registered, so app_store_id will be ignored.",
        "Set app_store_id on the app.",
      ],
    ]);
    expect(listDraftProblems({ android_app: { ...android, fingerprints: [sha1] } }, both)).toEqual([
      [
        "android_app",
        "The app is already registered, so fingerprints will be ignored.",
        "Set fingerprints on the app.",
      ],
    ]);
  });

  test("reports each missing destination once if the link has no fields", () => {
    expect(listProblems(explainVisits({}, {}).problems)).toEqual([
      ["ios_fallback_url", "iOS visitors have nowhere to go.", "Set ios_fallback_url or url."],
      [
        "android_fallback_url",
        "Android visitors have nowhere to go.",
        "Set android_fallback_url or url.",
      ],
      [
        "url",
        "Desktop visitors see the project's default page, because url is not set.",
        "Set url.",
      ],
    ]);
  });
});

function listDraftProblems(draft: VisitedLink, apps: VisitedApps = {}) {
  return listProblems(explainVisits({ url: "https://shop.example/", ...draft }, apps).problems);
}

function listProblems(problems: ReturnType<typeof explainVisits>["problems"]) {
  return problems.map(({ field, message, fix }) =>
    fix === undefined ? [field, message] : [field, message, fix],
  );
}
