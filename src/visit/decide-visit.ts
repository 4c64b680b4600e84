import type { AndroidAppFields, IosAppFields } from "../contract/apps.ts";
import type { LinkFields } from "../contract/links.ts";
import type { CheckedValues } from "../contract/problem.ts";
import { addQuery } from "../contract/rules/address-query.ts";
import {
  checkAndroidApp,
  checkIosApp,
  findTeamIdWarning,
  selectSha256,
} from "../contract/rules/app-rules.ts";
import { findAddressFault, isStoreAddress } from "../contract/rules/store-address.ts";
import { writeForHeader } from "../contract/rules/web-address.ts";
import { isBlank } from "../contract/text.ts";

/**
 * Decides what a visitor of a link sees. The link host shows it, and `explain_link` describes it.
 * If the app is installed, the phone usually opens it without a request to the link host. See
 * docs/visitors.md.
 */

/** A saved link, or a draft with missing fields. */
export type VisitedLink = LinkFields & {
  readonly id?: string;
  readonly ios_app_id?: string | null | undefined;
  readonly android_app_id?: string | null | undefined;
};

/** The link's apps. An app is undefined if it is unknown or the link has none. */
export type VisitedApps = {
  readonly ios_app?: IosAppFields | undefined;
  readonly android_app?: AndroidAppFields | undefined;
};

export type Mobile = "ios" | "android";
export type Platform = Mobile | "desktop";

export type Visitor = {
  /** A device counts as a desktop unless it is known to be a phone or tablet. */
  readonly platform: Platform;
  readonly bot?: boolean;
};

export type VisitOptions = {
  /**
   * True if Google Play passes the link's URL to the app instead of the link's referrer. Undefined
   * if the project's setting is unknown.
   */
  readonly link_in_referrer?: boolean | undefined;
  /** The visited URL with its query, if known. */
  readonly address?: string | undefined;
  /** The part of the visit's query that is added to the destination. */
  readonly query?: string;
  /** True if a second host serves the same links, and the Open button can use it. */
  readonly second_host?: boolean;
};

/** Where visitors go. `to` is safe for a header. `reason` is where `to` comes from. */
export type Destination = {
  readonly to: string;
  readonly reason: "ios_fallback_url" | "android_fallback_url" | "app_store" | "play_store" | "url";
};

/**
 * How the Open button of a preview page opens the app. It never uses the link's own URL, because on
 * a page of the same domain, iOS opens a universal link in the browser.
 */
export type OpenButton =
  | { readonly by: "second_host" }
  | { readonly by: "custom_scheme"; readonly scheme: string }
  | { readonly by: "intent"; readonly package_name: string; readonly scheme: string | null };

export type VisitDecision =
  | ({ readonly action: "redirect" } & Destination)
  | {
      readonly action: "preview_page";
      /** Undefined if no button can open the app. */
      readonly open: OpenButton | undefined;
      /**
       * Where the page sends visitors who do not have the app. Undefined if there is no
       * destination.
       */
      readonly next: Destination | undefined;
    }
  | { readonly action: "default_page" }
  /** For bots, a page with only the link's social tags. The visit is not counted as a click. */
  | { readonly action: "tags_page" };

export function decideVisit(
  link: VisitedLink,
  apps: VisitedApps,
  { platform, bot = false }: Visitor,
  options: VisitOptions = {},
): VisitDecision {
  if (bot) return { action: "tags_page" };
  const next = findDestination(link, apps, platform, options);
  if (platform !== "desktop" && link.enable_forced_redirect !== true) {
    const isKnown = apps[`${platform}_app`] !== undefined;
    if (isKnown || !isBlank(link[`${platform}_app_id`])) {
      return { action: "preview_page", open: chooseButton(apps, platform, options), next };
    }
  }
  return next === undefined ? { action: "default_page" } : { action: "redirect", ...next };
}

/** Returns where visitors without the app go, either by a redirect or from the preview page. */
export function readDestination(visit: VisitDecision): Destination | undefined {
  if (visit.action === "redirect") return visit;
  return visit.action === "preview_page" ? visit.next : undefined;
}

/** Whether iOS can open the app. The app needs a valid bundle ID and Team ID. */
export function canIosOpen(app: IosAppFields): boolean {
  const { problems } = checkIosApp(app);
  if (findTeamIdWarning(app) !== undefined) return false;
  return problems.every(({ field }) => field !== "bundle_id" && field !== "team_id");
}

export function canAndroidOpen(app: AndroidAppFields): boolean {
  return readPackageName(app) !== undefined && selectSha256(app).length > 0;
}

/** Finds the first destination that exists: the platform's fallback, its store, then `url`. */
function findDestination(
  link: VisitedLink,
  apps: VisitedApps,
  platform: Platform,
  options: VisitOptions,
): Destination | undefined {
  const url = readAddress(link, "url", options);
  const last: Destination | undefined = url === undefined ? url : { to: url, reason: "url" };
  if (platform === "desktop") return last;
  const reason = `${platform}_fallback_url` as const;
  const fallback = readAddress(link, reason, options);
  if (fallback !== undefined) return { to: fallback, reason };
  if (platform === "ios") {
    const store = buildAppStoreAddress(link, apps.ios_app);
    return store === undefined ? last : { to: store, reason: "app_store" };
  }
  const store = buildPlayAddress(link, apps.android_app, options);
  return store === undefined ? last : { to: store, reason: "play_store" };
}

/**
 * Returns a field's URL, safe for a header. Adds the visit's query, unless the URL is that of a
 * store. Returns undefined if the current rules reject the URL.
 */
function readAddress(
  link: VisitedLink,
  field: "url" | "ios_fallback_url" | "android_fallback_url",
  { query = "" }: VisitOptions,
): string | undefined {
  const address = link[field];
  if (address === null || address === undefined) return undefined;
  if (findAddressFault(field, address) !== undefined) return undefined;
  const to = writeForHeader(address);
  return isStoreAddress(to) ? to : addQuery(to, query);
}

function buildAppStoreAddress(
  { provider_token, campaign_token }: VisitedLink,
  app: IosAppFields | undefined,
): string | undefined {
  const id = app === undefined ? null : checkIosApp(app).values.app_store_id;
  if (id === null) return undefined;
  const store = `https://apps.apple.com/app/id${id}`;
  // Apple counts a campaign only if both tokens are sent.
  if (isBlank(provider_token) || isBlank(campaign_token)) return store;
  return `${store}?pt=${encode(provider_token)}&ct=${encode(campaign_token)}&mt=8`;
}

function buildPlayAddress(
  { referrer }: VisitedLink,
  app: AndroidAppFields | undefined,
  { link_in_referrer = false, address }: VisitOptions,
): string | undefined {
  const packageName = app && readPackageName(app);
  if (packageName === undefined) return undefined;
  const store = `https://play.google.com/store/apps/details?id=${encode(packageName)}`;
  const write = (carried: string | null | undefined) =>
    isBlank(carried) ? store : `${store}&referrer=${encode(carried)}`;
  if (!link_in_referrer) return write(referrer);
  if (address === undefined) return store;
  const once = `_url=${toBase64Url(address)}`;
  const twice = write(`${once}&url=${encode(address)}`);
  return twice.length <= mostTwice_characters ? twice : write(once);
}

/**
 * The maximum length of a URL that works everywhere. Up to this length, a Google Play URL contains
 * the link's URL twice, as `_url` and as `url`. The public Android SDK has read `_url` since
 * version 1.0.2, but React Native's SDK contains version 1.0.0, which reads `url`.
 */
const mostTwice_characters = 2048;

/** Prefers the second host, because a custom scheme shows an error if the app is not installed. */
function chooseButton(
  { ios_app, android_app }: VisitedApps,
  platform: Mobile,
  { second_host = false }: VisitOptions,
): OpenButton | undefined {
  if (platform === "ios") {
    if (ios_app === undefined) return undefined;
    if (second_host && canIosOpen(ios_app)) return { by: "second_host" };
    const scheme = readScheme(checkIosApp(ios_app));
    return scheme === null ? undefined : { by: "custom_scheme", scheme };
  }
  if (android_app === undefined) return undefined;
  if (second_host && canAndroidOpen(android_app)) return { by: "second_host" };
  const package_name = readPackageName(android_app);
  if (package_name === undefined) return undefined;
  return { by: "intent", package_name, scheme: readScheme(checkAndroidApp(android_app)) };
}

function readPackageName(app: AndroidAppFields): string | undefined {
  const { values, problems } = checkAndroidApp(app);
  return problems.some(({ field }) => field === "package_name") ? undefined : values.package_name;
}

/** Ignores a custom scheme that the rules reject, because it could run code in the page. */
function readScheme(app: CheckedValues<{ readonly custom_scheme: string | null }>): string | null {
  const isRefused = app.problems.some(({ field }) => field === "custom_scheme");
  return isRefused ? null : app.values.custom_scheme;
}

/** Replaces unpaired surrogates, because they cannot be encoded. */
function encode(text: string | null | undefined): string {
  return encodeURIComponent((text ?? "").toWellFormed());
}

/** Encodes text as URL-safe Base64 without padding, as the public Android SDK expects it. */
function toBase64Url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return btoa(bytes.join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

type DeviceVisit = {
  readonly link: VisitedLink;
  readonly apps: VisitedApps;
  readonly project: { readonly plan: string };
  readonly platform: Visitor["platform"];
};

/**
 * Whether the page contains the script that reports the phone's properties for deferred links. Only
 * iPhones need the script. Deferred links need the Pro plan.
 */
export function hasDeviceScript({ link, apps, project, platform }: DeviceVisit): boolean {
  if (platform !== "ios" || apps.ios_app === undefined || link.enable_forced_redirect === true) {
    return false;
  }
  return project.plan === "pro" && link.ios_deferred_deep_linking_enabled === true;
}
