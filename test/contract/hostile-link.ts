import * as fc from "fast-check";
import { readQuery } from "../../src/contract/rules/address-query.ts";
import type { VisitedApps, VisitedLink, VisitOptions } from "../../src/visit/decide-visit.ts";

/** Random links and apps with any text in any field, many of them incomplete. */

const pieces = ["http", "https", "s", ":", "//", "/", "\\", "@", "javascript:", "\t", "\r\n"];
const others = ["intent:", "#I;", "?", "&id=", "%", "%0a", "\ud800", "\0", "\u202e", "é", "."];
const names = [
  "shop.example",
  "com.example.shop",
  "ABCDE12345",
  "123456789",
  " ",
  "AB:CD",
  "data:",
];
const stores = ["market://details?id=", "itms-apps://apps.apple.com/", "itms-appss://"];
const patched = fc
  .array(fc.constantFrom(...pieces, ...others, ...names), { maxLength: 8 })
  .map((parts) => parts.join(""));
const started = fc
  .tuple(fc.constantFrom("https://", "http://shop.example/", ...stores), patched)
  .map((parts) => parts.join(""));
const good = fc.constantFrom(...names, "https://shop.example/", "shop", "1");
const text = fc.oneof(good, patched, started, fc.webUrl(), fc.string({ unit: "binary" }));
const field = fc.option(fc.option(text, { nil: null }), { nil: undefined });
const flag = fc.constantFrom(true, false, null, undefined);
const fingerprint = fc.oneof(
  text,
  fc
    .integer({ min: 1, max: 33 })
    .map((count) => Array.from({ length: count }, () => "AB").join(":")),
);
const fingerprints = fc.option(fc.array(fingerprint, { maxLength: 3 }), { nil: null });

const iosApp = fc.record({
  bundle_id: field,
  team_id: field,
  app_store_id: field,
  name: field,
  clip_bundle_id: field,
  custom_scheme: field,
});
const androidApp = fc.record({
  package_name: field,
  fingerprints,
  name: field,
  custom_scheme: field,
});

export function hostileApps(): fc.Arbitrary<VisitedApps> {
  return fc.record({
    ios_app: fc.option(iosApp, { nil: undefined }),
    android_app: fc.option(androidApp, { nil: undefined }),
  });
}

export function hostileOptions(): fc.Arbitrary<VisitOptions> {
  return fc.record({
    link_in_referrer: fc.boolean(),
    second_host: fc.boolean(),
    address: fc.option(text, { nil: undefined }),
    query: text.map((given) => readQuery(`https://shop.example/?${given}`)),
  });
}

export function hostileLink(): fc.Arbitrary<VisitedLink> {
  return fc.record(
    {
      id: fc.string(),
      name: field,
      path: field,
      url: field,
      social_image_url: field,
      ios_fallback_url: field,
      android_fallback_url: field,
      enable_forced_redirect: flag,
      ios_deferred_deep_linking_enabled: flag,
      referrer: field,
      provider_token: field,
      campaign_token: field,
      ios_app_id: fc.option(text, { nil: null }),
      android_app_id: fc.option(text, { nil: null }),
      ios_app: fc.option(fc.record({ id: field, bundle_id: field, team_id: field }), { nil: null }),
      android_app: fc.option(fc.record({ id: field, package_name: field, fingerprints }), {
        nil: null,
      }),
    },
    { requiredKeys: [] },
  );
}
