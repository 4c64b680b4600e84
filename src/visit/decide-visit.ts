import type { AndroidAppFields, IosAppFields } from "../contract/apps.ts";
import type { LinkFields } from "../contract/links.ts";
import type { Checked } from "../contract/problem.ts";
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
 * What a visitor of a link meets, decided in one place: the link host acts on it and the
 * explanation tells it. A visitor who has the app on the link seldom gets here, because the
 * operating system opens the app without asking us. Sources: link-services.md §3; where it
 * leaves a choice, the comment says which one was made.
 */

/** A stored link, or a draft of one in which anything may be missing still. */
export type VisitedLink = LinkFields & {
  readonly id?: string;
  readonly ios_app_id?: string | null | undefined;
  readonly android_app_id?: string | null | undefined;
};

/** The apps on the link, as far as their records are known. */
export type VisitedApps = {
  readonly ios_app?: IosAppFields | undefined;
  readonly android_app?: AndroidAppFields | undefined;
};

/** The systems that apps are for. */
export type Mobile = "ios" | "android";
export type Platform = Mobile | "desktop";

export type Visitor = {
  /** What is not known to be a phone or a tablet counts as desktop. */
  readonly platform: Platform;
  readonly bot?: boolean;
};

export type VisitOptions = {
  /**
   * The project's setting: Play's referrer carries the link's address, and nothing else. Undefined
   * where it is not known.
   */
  readonly link_in_referrer?: boolean | undefined;
  /** The address that is visited, query and all, where it is known. */
  readonly address?: string | undefined;
  /** What of it the web destination is handed on, as it was written (`readQuery`). */
  readonly query?: string;
  /** Whether the same links are served by another host name too, for the Open button alone. */
  readonly second_host?: boolean;
};

/**
 * An http or https address, or one of the platform's own store, safe for a Location header as it
 * stands, and what it comes from.
 */
export type Destination = {
  readonly to: string;
  readonly reason: "ios_fallback_url" | "android_fallback_url" | "app_store" | "play_store" | "url";
};

/**
 * How the preview page's Open button gets into the app. A universal link that is tapped on a page
 * of its own domain stays in the browser, so the button never leads to the link's own address.
 */
export type OpenButton =
  | { readonly by: "second_host" }
  | { readonly by: "custom_scheme"; readonly scheme: string }
  | { readonly by: "intent"; readonly package_name: string; readonly scheme: string | null };

export type Visit =
  | ({ readonly action: "redirect" } & Destination)
  | {
      readonly action: "preview_page";
      /** Undefined where no button of ours could open the app. */
      readonly open: OpenButton | undefined;
      /** Where the page leads visitors without the app; undefined is nowhere. */
      readonly next: Destination | undefined;
    }
  | { readonly action: "default_page" }
  /** The link's social tags and nothing to follow, for bots; no click is counted. */
  | { readonly action: "tags_page" };

export function decideVisit(
  link: VisitedLink,
  apps: VisitedApps,
  { platform, bot = false }: Visitor,
  options: VisitOptions = {},
): Visit {
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

/** Where visitors without the app go, by themselves or on from the preview page. */
export function readDestination(visit: Visit): Destination | undefined {
  if (visit.action === "redirect") return visit;
  return visit.action === "preview_page" ? visit.next : undefined;
}

/** Whether iOS can open the app: the association file needs a valid bundle ID and Team ID. */
export function canIosOpen(app: IosAppFields): boolean {
  const { problems } = checkIosApp(app);
  if (findTeamIdWarning(app) !== undefined) return false;
  return problems.every(({ field }) => field !== "bundle_id" && field !== "team_id");
}

export function canAndroidOpen(app: AndroidAppFields): boolean {
  return readPackageName(app) !== undefined && selectSha256(app).length > 0;
}

/** The first address that there is: the platform's fallback, its store, then `url`. */
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
 * The address verbatim, unless a header could not carry it, with what the visit's query adds to a
 * web page's; a store makes nothing of that. What the rules refuse now counts as missing, even if
 * it was stored once.
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
  // Apple counts a campaign by both tokens; one alone says nothing.
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
  const told = `_url=${toBase64Url(address)}`;
  const toldTwice = write(`${told}&url=${encode(address)}`);
  return toldTwice.length <= mostTwice_characters ? toldTwice : write(told);
}

/**
 * The service's own Android SDK reads `_url` since 1.0.2, and React Native's has 1.0.0 inside,
 * which reads `url`. Google tells no limit; the second goes last, and only into an address of a
 * length that is taken everywhere.
 */
const mostTwice_characters = 2048;

/** A second host comes first: a custom scheme shows an error where the app is missing. */
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

/** A scheme that the rules refuse would run code in the page, so it counts as missing. */
function readScheme(app: Checked<{ readonly custom_scheme: string | null }>): string | null {
  const isRefused = app.problems.some(({ field }) => field === "custom_scheme");
  return isRefused ? null : app.values.custom_scheme;
}

/** Half a surrogate pair cannot be encoded; it becomes the replacement character. */
function encode(text: string | null | undefined): string {
  return encodeURIComponent((text ?? "").toWellFormed());
}

/** As the service's own Android SDK reads it: URL-safe, without padding. */
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
 * Whether a link's page has the script that describes the device, so that an install can be
 * matched. Deferred deep linking needs the Pro plan, and only iPhones need a script for it.
 */
export function namesDevice({ link, apps, project, platform }: DeviceVisit): boolean {
  if (platform !== "ios" || apps.ios_app === undefined || link.enable_forced_redirect === true) {
    return false;
  }
  return project.plan === "pro" && link.ios_deferred_deep_linking_enabled === true;
}
