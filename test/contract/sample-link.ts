import type { AndroidApp, IosApp } from "../../src/contract/apps.ts";
import type { Link } from "../../src/contract/links.ts";

/** A complete link and its apps, as the API returns them. */

export const sha256 = Array.from({ length: 32 }, () => "AB").join(":");
export const sha1 = Array.from({ length: 20 }, () => "AB").join(":");

export const ios_app: IosApp = {
  id: "0a",
  name: null,
  bundle_id: "com.example.shop",
  team_id: "ABCDE12345",
  app_store_id: "123456789",
  clip_bundle_id: null,
  custom_scheme: "shop",
};

export const android_app: AndroidApp = {
  id: "0b",
  name: null,
  package_name: "com.example.shop",
  fingerprints: [sha256],
  custom_scheme: null,
};

export const link: Link = {
  id: "0c",
  name: "Spring",
  path: "spring",
  url: "https://shop.example/",
  social_description: null,
  social_image_url: null,
  social_title: null,
  shortened_path: null,
  android_fallback_url: null,
  ios_fallback_url: null,
  referrer: "utm_source=a",
  provider_token: "117",
  campaign_token: "spring",
  android_app_id: "0b",
  ios_app_id: "0a",
  enable_forced_redirect: false,
  ios_deferred_deep_linking_enabled: true,
  clicks: 0,
};

/** The store addresses of the two apps, without parameters of the link. */
export const appStore = "https://apps.apple.com/app/id123456789";
export const play = "https://play.google.com/store/apps/details?id=com.example.shop";
