import { describe, expect, test } from "vitest";
import { readSource } from "../../read-source.ts";

/** Imports from Firebase Dynamic Links: the Takeout export and the format of its API. */

/** The columns that Google Takeout writes (its "Export Dynamic Links metadata"). */
const takeout = [
  "Short link",
  "Deep link (link)",
  "Android package name (apn)",
  "Android fallback link (afl)",
  "Android minimum package version code (amv)",
  "iOS bundle ID (ibi)",
  "iOS fallback link (ifl)",
  "iOS custom scheme (ius)",
  "iOS iPad fallback link (ipfl)",
  "iOS iPad bundle ID (ipbi)",
  "iOS app store ID (isi)",
  "iOS minimum version (imv)",
  "Enable forced redirect? (efr)",
  "Desktop fallback link (ofl)",
  "Social title (st)",
  "Social description (sd)",
  "Social image link (si)",
  "UTM source (utm_source)",
  "UTM medium (utm_medium)",
  "UTM campaign (utm_campaign)",
  "UTM term (utm_term)",
  "UTM content (utm_content)",
  "iTunes Connect at",
  "iTunes Connect ct",
  "iTunes Connect mt",
  "iTunes Connect pt",
  "Archived?",
  "Link name",
  "Creation timestamp",
];

describe("an import from Firebase Dynamic Links", () => {
  test("reads a Google Takeout file and reports the columns that are not imported", async () => {
    const row: Readonly<Record<string, string>> = {
      "Short link": "https://shop.page.link/m9Mm",
      "Deep link (link)": "https://shop.example/spring",
      "Android package name (apn)": "com.example.shop",
      "Android fallback link (afl)": "https://shop.example/android",
      "Android minimum package version code (amv)": "12",
      "iOS bundle ID (ibi)": "com.example.Shop",
      "iOS fallback link (ifl)": "https://shop.example/ios",
      "iOS custom scheme (ius)": "shop",
      "iOS app store ID (isi)": "123456789",
      "Enable forced redirect? (efr)": "TRUE",
      "Social title (st)": "Spring",
      "Social description (sd)": "All of it",
      "Social image link (si)": "https://shop.example/a.png",
      "UTM source (utm_source)": "mail & more",
      "UTM campaign (utm_campaign)": "spring",
      "iTunes Connect ct": "spring",
      "iTunes Connect pt": "117",
      "Archived?": "false",
      "Link name": "Spring sale",
      "Creation timestamp": "2021-05-01",
    };
    const { rows, findings } = await readSource({
      csv: [takeout.join(","), takeout.map((name) => row[name] ?? "").join(",")].join("\n"),
    });
    expect(rows).toMatchObject([
      {
        row: 2,
        path: "m9Mm",
        problems: [],
        fields: {
          name: "Spring sale",
          path: "m9Mm",
          url: "https://shop.example/spring",
          social_title: "Spring",
          social_description: "All of it",
          social_image_url: "https://shop.example/a.png",
          ios_fallback_url: "https://shop.example/ios",
          android_fallback_url: "https://shop.example/android",
          enable_forced_redirect: true,
          referrer: "utm_source=mail+%26+more&utm_campaign=spring",
          provider_token: "117",
          campaign_token: "spring",
          ios_app: { bundle_id: "com.example.Shop", app_store_id: "123456789" },
          android_app: { package_name: "com.example.shop" },
        },
      },
    ]);
    expect(findings).toEqual({
      format: "Firebase Dynamic Links",
      problems: [],
      unmapped: [
        { field: "Android minimum package version code (amv)", count: 1, example: "12" },
        { field: "iOS custom scheme (ius)", count: 1, example: "shop" },
        { field: "Creation timestamp", count: 1, example: "2021-05-01" },
      ],
      warnings: [],
    });
  });

  test("uses `ofl` as the destination URL and reports the deep link as not imported", async () => {
    const { rows, findings } = await readSource({
      csv: "shortLink,link,ofl\nhttps://a.page.link/x,https://a.example/deep,https://a.example/\n",
    });
    expect(rows[0]?.fields).toEqual({ path: "x", url: "https://a.example/" });
    expect(findings.unmapped).toEqual([
      { field: "link", count: 1, example: "https://a.example/deep" },
    ]);
  });

  test("reads links in the format of the Firebase API", async () => {
    const { rows, findings } = await readSource({
      rows: [
        {
          shortLink: "https://a.page.link/abc",
          dynamicLinkInfo: {
            domainUriPrefix: "https://a.page.link",
            link: "https://a.example/",
            androidInfo: { androidPackageName: "com.example.a", androidMinPackageVersionCode: "3" },
            iosInfo: { iosBundleId: "com.example.A", iosAppStoreId: "12" },
            desktopInfo: { desktopFallbackLink: "" },
            navigationInfo: { enableForcedRedirect: false },
            socialMetaTagInfo: { socialTitle: "A" },
            analyticsInfo: {
              googlePlayAnalytics: { utmSource: "mail" },
              itunesConnectAnalytics: { pt: "117", ct: "spring", mt: "8" },
            },
          },
        },
      ],
    });
    expect(rows[0]?.fields).toEqual({
      path: "abc",
      url: "https://a.example/",
      social_title: "A",
      enable_forced_redirect: false,
      referrer: "utm_source=mail",
      provider_token: "117",
      campaign_token: "spring",
      ios_app: { bundle_id: "com.example.A", app_store_id: "12" },
      android_app: { package_name: "com.example.a" },
    });
    expect(findings.unmapped.map(({ field }) => field)).toEqual([
      "dynamicLinkInfo.androidInfo.androidMinPackageVersionCode",
      "dynamicLinkInfo.analyticsInfo.itunesConnectAnalytics.mt",
    ]);
  });
});
