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
 * Decides what a visitor of a link sees. The link host acts on the decision, and `explain_link`
 * describes it. Visitors with the app rarely appear here, because the system opens the app without
 * a request to us. See docs/visitors.md.
 */

/** A stored link, or a draft with missing fields. */
export type VisitedLink = LinkFields & {
  readonly id?: string;
  readonly ios_app_id?: string | null | undefined;
  readonly android_app_id?: string | null | undefined;
};

/** The apps of the link, as far as their records are known. */
export type VisitedApps = {
  readonly ios_app?: IosAppFields | undefined;
  readonly android_app?: AndroidAppFields | undefined;
};

/** The platforms that have apps. */
export type Mobile = "ios" | "android";
export type Platform = Mobile | "desktop";

export type Visitor = {
  /** Everything that is not a known phone or tablet is a desktop. */
  readonly platform: Platform;
  readonly bot?: boolean;
};

export type VisitOptions = {
  /**
   * Whether Google Play passes the link's address to the app, instead of the link's referrer.
   * Undefined if the project's setting is unknown.
   */
  readonly link_in_referrer?: boolean | undefined;
  /** The visited address with its query, if known. */
  readonly address?: string | undefined;
  /** The part of the query that the destination gets, unchanged. */
  readonly query?: string;
  /** Whether the same links have a second host name for the Open button. */
  readonly second_host?: boolean;
};

/**
 * The address that visitors go to, safe for a Location header, and the field or store that it comes
 * from.
 */
export type Destination = {
  readonly to: string;
  readonly reason: "ios_fallback_url" | "android_fallback_url" | "app_store" | "play_store" | "url";
};

/**
 * How the preview page's Open button opens the app. iOS keeps a universal link in the browser if it
 * is tapped on a page of its own domain, so the button never uses the link's own address.
 */
export type OpenButton =
  | { readonly by: "second_host" }
  | { readonly by: "custom_scheme"; readonly scheme: string }
  | { readonly by: "intent"; readonly package_name: string; readonly scheme: string | null };

export type VisitDecision =
  | ({ readonly action: "redirect" } & Destination)
  | {
      readonly action: "preview_page";
      /** Undefined if no button could open the app. */
      readonly open: OpenButton | undefined;
      /** Where visitors without the app go from the page; undefined if nowhere. */
      readonly next: Destination | undefined;
    }
  | { readonly action: "default_page" }
  /** A page for bots with only the link's social tags. No click is counted. */
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

/** Where visitors without the app go, by a redirect or from the preview page. */
export function readDestination(visit: VisitDecision): Destination | undefined {
  if (visit.action === "redirect") return visit;
  return visit.action === "preview_page" ? visit.next : undefined;
}

/** Whether iOS can open the app. The association file needs a valid bundle ID and Team ID. */
export function canIosOpen(app: IosAppFields): boolean {
  const { problems } = checkIosApp(app);
  if (findTeamIdWarning(app) !== undefined) return false;
  return problems.every(({ field }) => field !== "bundle_id" && field !== "team_id");
}

export function canAndroidOpen(app: AndroidAppFields): boolean {
  return readPackageName(app) !== undefined && selectSha256(app).length > 0;
}

/** The first available address: the platform's fallback, its store, then `url`. */
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
 * A stored address, safe for a header. The visit's query is added, except to a store's address.
 * Addresses that the current rules reject are ignored.
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
  // Apple counts a campaign only if both tokens are present.
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
 * The public Android SDK reads `_url` since version 1.0.2. React Native's SDK contains 1.0.0, which
 * reads `url`. Both are sent if the result is short enough to work everywhere.
 */
const mostTwice_characters = 2048;

/** A second host is preferred, because a custom scheme shows an error if the app is missing. */
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

/** A scheme that the rules reject could run code in the page, so it is ignored. */
function readScheme(app: CheckedValues<{ readonly custom_scheme: string | null }>): string | null {
  const isRefused = app.problems.some(({ field }) => field === "custom_scheme");
  return isRefused ? null : app.values.custom_scheme;
}

/** Half a surrogate pair cannot be encoded and becomes the replacement character. */
function encode(text: string | null | undefined): string {
  return encodeURIComponent((text ?? "").toWellFormed());
}

/** The encoding that the public Android SDK reads: URL-safe and without padding. */
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
 * Whether a preview page has the script that describes the device, so that an install can be
 * matched. Deferred deep linking needs the Pro plan, and only iPhones need the script.
 */
export function hasDeviceScript({ link, apps, project, platform }: DeviceVisit): boolean {
  if (platform !== "ios" || apps.ios_app === undefined || link.enable_forced_redirect === true) {
    return false;
  }
  return project.plan === "pro" && link.ios_deferred_deep_linking_enabled === true;
}
