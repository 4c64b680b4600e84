import * as z from "zod";
import type { FieldProblem } from "../contract/problem.ts";
import {
  checkAndroidApp,
  checkIosApp,
  findFingerprintWarning,
  findTeamIdWarning,
} from "../contract/rules/app-rules.ts";
import { checkLink, addressFields, isStoreToken } from "../contract/rules/link-rules.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import { isBlank } from "../contract/text.ts";
import {
  decideVisit,
  readDestination,
  type Mobile,
  type VisitedApps,
  type VisitedLink,
  type VisitOptions,
  type Destination,
  type Platform,
} from "./decide-visit.ts";

/** Finds mistakes in a link that would lead visitors to the wrong place or to an error. */

/** A link to explain, with its apps and the problems that the API would report. */
export type ExplainedLink = {
  readonly link: VisitedLink;
  readonly apps: VisitedApps;
  readonly options: VisitOptions;
  readonly appSources: Readonly<Record<Mobile, AppSource>>;
  readonly faults: readonly FieldProblem[];
};

/** Where the app's fields come from. `unknown` means that the link's app could not be read. */
type AppSource = "none" | "record" | "draft" | "unknown";

export const systemNames = { ios: "iOS", android: "Android", desktop: "Desktop" } as const;

export function readExplainedLink(
  link: VisitedLink,
  apps: VisitedApps,
  options: VisitOptions,
): ExplainedLink {
  const ios = link.ios_app;
  const android = link.android_app;
  const ios_app = apps.ios_app ?? readDraft(ios, ios?.bundle_id);
  const android_app = apps.android_app ?? readDraft(android, android?.package_name);
  const ios_app_id = link.ios_app_id ?? ios?.id ?? null;
  const android_app_id = link.android_app_id ?? android?.id ?? null;
  // A saved link's path is not checked, because its server has already accepted it. A store token
  // that was not read cannot contradict the other one.
  const { provider_token = link.campaign_token, campaign_token = link.provider_token } = link;
  const saved = { ...link, provider_token, campaign_token, path: undefined };
  const faults = isSaved(link)
    ? checkLink(saved, "update").problems.filter(({ field }) => Object.hasOwn(link, field))
    : checkLink(link, "create").problems;
  const appSources = {
    ios: findSource(apps.ios_app, ios_app, ios_app_id),
    android: findSource(apps.android_app, android_app, android_app_id),
  };
  const known = { ...link, ios_app_id, android_app_id };
  return { link: known, apps: { ios_app, android_app }, options, appSources, faults };
}

function isSaved(link: VisitedLink): boolean {
  return link.id !== undefined;
}

/** Returns the app that would be registered when the draft is saved. */
function readDraft<Fields extends { readonly id?: string | null | undefined }>(
  fields: Fields | null | undefined,
  identifier: string | null | undefined,
): Fields | undefined {
  return fields && isBlank(fields.id) && !isBlank(identifier) ? fields : undefined;
}

function findSource(record: unknown, app: unknown, id: string | null): AppSource {
  if (record !== undefined) return "record";
  if (app !== undefined) return "draft";
  return isBlank(id) ? "none" : "unknown";
}

export const linkProblem = z.looseObject({
  field: z.string().optional(),
  message: z.string(),
  fix: z.string().optional(),
});

/** The kinds of problems, for counting. Users see only the messages. */
export type LinkFault =
  | "invalid_field"
  | "app_invalid"
  | "app_unknown"
  | "app_fields_ignored"
  | "app_without_store_id"
  | `no_${Platform}_destination`
  | "no_open_button"
  | "deferred_linking_without_app"
  | "deferred_linking_without_page"
  | "team_id_unfit"
  | "short_fingerprints"
  | "campaign_token_unfit"
  | "store_tokens_unused"
  | "referrer_unused"
  | "http_address"
  | "loop";

type LinkProblem = z.output<typeof linkProblem> & { readonly code: LinkFault };

/** Apple's limit for campaign tokens. */
const campaignTokenCharacters = 30;

export function findLinkProblems(explained: ExplainedLink): readonly LinkProblem[] {
  const ofApps = (["ios", "android"] as const).flatMap((platform) => [
    ...findAppFaults(explained, platform),
    ...findUnknownApp(explained, platform),
    ...findIgnoredAppFields(explained, platform),
    ...findMissingDestination(explained, platform),
  ]);
  return [
    ...findRuleFaults(explained),
    ...ofApps,
    ...findMissingUrl(explained),
    ...findMissingButton(explained),
    ...findDeferredLinkingProblems(explained),
    ...findTeamIdProblems(explained),
    ...findFingerprintProblems(explained),
    ...findCampaignProblems(explained),
    ...findReferrerProblems(explained),
    ...findAddressProblems(explained),
  ];
}

/** Lists the problems that the API would report, with the API's own messages. */
function findRuleFaults(explained: ExplainedLink): readonly LinkProblem[] {
  const { provider_token, campaign_token } = explained.link;
  const isOneMissing = isBlank(provider_token) !== isBlank(campaign_token);
  const fix = "set both provider_token and campaign_token, or clear both";
  return explained.faults.map(({ field, message }) => {
    const fixes = isStoreToken(field) && isOneMissing ? [fix] : [];
    return describe("invalid_field", field, message, ...fixes);
  });
}

function findAppFaults(explained: ExplainedLink, platform: Mobile): readonly LinkProblem[] {
  const { ios_app, android_app } = explained.apps;
  const ios = ios_app && checkIosApp(ios_app);
  const android = android_app && checkAndroidApp(android_app);
  const checked = platform === "ios" ? ios : android;
  return (checked?.problems ?? []).map(({ field, message }) => {
    const fix = fixOnApp(explained, platform, field);
    return describe("app_invalid", `${platform}_app.${field}`, message, fix);
  });
}

function findUnknownApp(explained: ExplainedLink, platform: Mobile): readonly LinkProblem[] {
  const field = `${platform}_app`;
  if (explained.appSources[platform] !== "unknown" || isFaulty(explained, field)) return [];
  const app = `${systemNames[platform]} app`;
  const message = `The ${app} could not be read, so its store page and fields were not checked.`;
  const fix = `look for it in the list of ${systemNames[platform]} apps`;
  return [describe("app_unknown", field, message, fix)];
}

/** Reports app fields of a draft that are ignored, because the app is already registered. */
function findIgnoredAppFields(explained: ExplainedLink, platform: Mobile): readonly LinkProblem[] {
  if (explained.appSources[platform] !== "record") return [];
  const ignored = platform === "ios" ? listIosChanges(explained) : listAndroidChanges(explained);
  if (ignored.length === 0) return [];
  const names = ignored.join(" and ");
  const message = `The app is already registered, so ${names} will be ignored.`;
  const way = `set ${names} on the app`;
  return [describe("app_fields_ignored", `${platform}_app`, message, way)];
}

function listIosChanges({ link, apps }: ExplainedLink): readonly string[] {
  const { values: draft } = checkIosApp(link.ios_app ?? {});
  const { values: record } = checkIosApp(apps.ios_app ?? {});
  const names = ["team_id", "app_store_id"] as const;
  return names.filter((name) => !isBlank(draft[name]) && draft[name] !== record[name]);
}

function listAndroidChanges({ link, apps }: ExplainedLink): readonly string[] {
  const draft = checkAndroidApp(link.android_app ?? {}).values.fingerprints.join();
  const record = checkAndroidApp(apps.android_app ?? {}).values.fingerprints.join();
  return draft === "" || draft === record ? [] : ["fingerprints"];
}

/**
 * Reports visitors without a destination. Also reports iOS visitors who cannot get to the App Store
 * although the link has an app.
 */
function findMissingDestination(
  explained: ExplainedLink,
  platform: Mobile,
): readonly LinkProblem[] {
  const field = `${platform}_fallback_url` as const;
  const code = `no_${platform}_destination` as const;
  const source = explained.appSources[platform];
  // A rejected URL must be fixed first. An unknown app may have a store page.
  if (source === "unknown" || isFaulty(explained, field) || isFaulty(explained, "url")) return [];
  const visitors = `${systemNames[platform]} visitors`;
  const destination = findDestination(explained, platform);
  const isStoreMissing = platform === "ios" && source !== "none";
  const storeFixes = isStoreMissing ? [fixOnApp(explained, platform, "app_store_id")] : [];
  if (destination?.reason === "url" && isStoreMissing) {
    const way = `${visitors} without the app go to the link's url`;
    const message = `The app has no App Store ID, so ${way}.`;
    const either = [...storeFixes, `set ${field}`];
    return [describe("app_without_store_id", "ios_app.app_store_id", message, ...either)];
  }
  if (destination !== undefined) return [];
  const fixes = [`set ${field} or url`, ...storeFixes];
  if (source === "none") {
    return [describe(code, field, `${visitors} have nowhere to go.`, ...fixes)];
  }
  if (explained.link.enable_forced_redirect === true) {
    const message = `With enable_forced_redirect, ${visitors} without the app have nowhere to go.`;
    return [describe(code, "enable_forced_redirect", message, ...fixes)];
  }
  const message = `${visitors} without the app have nowhere to go.`;
  return [describe(code, field, message, ...fixes)];
}

function findMissingUrl(explained: ExplainedLink): readonly LinkProblem[] {
  if (isFaulty(explained, "url") || findDestination(explained, "desktop") !== undefined) return [];
  const message = "Desktop visitors see the project's default page, because url is not set.";
  return [describe("no_desktop_destination", "url", message, "set url")];
}

/** Reports a preview page without an Open button. `OpenButton` explains the cause. */
function findMissingButton({ link, apps, options }: ExplainedLink): readonly LinkProblem[] {
  const visit = decideVisit(link, apps, { platform: "ios" }, options);
  const isMissing = apps.ios_app && visit.action === "preview_page" && visit.open === undefined;
  if (isMissing !== true) return [];
  const message =
    "The preview page cannot open the app without a custom_scheme, because it is on the link's " +
    "own domain.";
  const way = "ask the user for the app's custom_scheme, then set it";
  return [describe("no_open_button", "ios_app.custom_scheme", message, way)];
}

function findDeferredLinkingProblems(explained: ExplainedLink): readonly LinkProblem[] {
  const { link, appSources } = explained;
  const field = "ios_deferred_deep_linking_enabled";
  if (link[field] !== true) return [];
  if (appSources.ios === "none") {
    const message = "Deferred deep linking has no effect, because the link has no iOS app.";
    const fix = "set ios_app";
    return [describe("deferred_linking_without_app", field, message, fix)];
  }
  if (link.enable_forced_redirect !== true) return [];
  const message =
    "Deferred deep linking needs the preview page, which enable_forced_redirect skips.";
  const fix = "set only one of the two to true";
  return [describe("deferred_linking_without_page", field, message, fix)];
}

function findTeamIdProblems(explained: ExplainedLink): readonly LinkProblem[] {
  const { ios_app } = explained.apps;
  const warning = ios_app && findTeamIdWarning(ios_app);
  if (warning === undefined) return [];
  const fix = fixOnApp(explained, "ios", "the Team ID");
  return [describe("team_id_unfit", "ios_app.team_id", `${warning}.`, fix)];
}

function findFingerprintProblems(explained: ExplainedLink): readonly LinkProblem[] {
  const { android_app } = explained.apps;
  const warning = android_app && findFingerprintWarning(android_app);
  if (warning === undefined) return [];
  const fix = fixOnApp(explained, "android", "all SHA-256 fingerprints");
  return [describe("short_fingerprints", "android_app.fingerprints", `${warning}.`, fix)];
}

function findCampaignProblems(explained: ExplainedLink): readonly LinkProblem[] {
  const { link, appSources } = explained;
  const token = link.campaign_token ?? "";
  const problems: LinkProblem[] = [];
  if (token.length > campaignTokenCharacters || token !== token.trim()) {
    const rule = `at most ${campaignTokenCharacters} characters, without a space at either end`;
    const message = `Apple accepts campaign tokens of ${rule}.`;
    const fix = "set another campaign_token";
    problems.push(describe("campaign_token_unfit", "campaign_token", message, fix));
  }
  const isSet = !isBlank(token) && !isBlank(link.provider_token);
  const reason = findDestination(explained, "ios")?.reason;
  if (isSet && appSources.ios !== "unknown" && reason !== "app_store") {
    const place = reason === "ios_fallback_url" ? `go to ${reason}` : "do not go to the App Store";
    const message = `The store tokens have no effect: iOS visitors ${place}.`;
    problems.push(describe("store_tokens_unused", "provider_token", message));
  }
  return problems;
}

function findReferrerProblems(explained: ExplainedLink): readonly LinkProblem[] {
  const { link, options, appSources } = explained;
  if (isBlank(link.referrer)) return [];
  if (options.link_in_referrer === true) {
    const message = 'referrer is ignored, because the project\'s "Link in Referrer" setting is on.';
    const fix = "put the parameters in the query of the link's address";
    return [describe("referrer_unused", "referrer", message, fix)];
  }
  const reason = findDestination(explained, "android")?.reason;
  if (appSources.android === "unknown" || reason === "play_store") return [];
  const place = reason === "android_fallback_url" ? `go to ${reason}` : "do not go to Google Play";
  const message = `referrer has no effect: Android visitors ${place}.`;
  return [describe("referrer_unused", "referrer", message)];
}

function findAddressProblems(explained: ExplainedLink): readonly LinkProblem[] {
  const problems: LinkProblem[] = [];
  for (const field of addressFields) {
    const address = explained.link[field];
    if (isFaulty(explained, field)) continue;
    if (/^http:/i.test(address ?? "")) {
      const fix = `set an https ${field}`;
      problems.push(describe("http_address", field, `${field} uses http, not https.`, fix));
    }
    if (field !== "social_image_url" && isSamePage(address, explained.options.address)) {
      const message = `${field} is the link's own address: visitors would be redirected in a loop.`;
      problems.push(describe("loop", field, message, `set another ${field}`));
    }
  }
  return problems;
}

/** Whether two URLs belong to the same link. Queries and fragments are ignored. */
function isSamePage(one: string | null | undefined, other: string | undefined): boolean {
  const [first, second] = [one, other].map((address) => (address ? readUrl(address) : undefined));
  return first !== undefined && first.host === second?.host && first.pathname === second.pathname;
}

function findDestination(
  { link, apps, options }: ExplainedLink,
  platform: Platform,
): Destination | undefined {
  return readDestination(decideVisit(link, apps, { platform }, options));
}

function isFaulty({ faults }: ExplainedLink, name: string): boolean {
  return faults.some(({ field }) => field === name);
}

/** Suggests asking the user, because assistants would invent these values. */
function fixOnApp({ appSources }: ExplainedLink, platform: Mobile, what: string): string {
  const isDraft = appSources[platform] === "draft";
  return `ask the user for ${what}, then ${isDraft ? `correct ${platform}_app` : "update the app"}`;
}

/** Creates a problem. Joins its fixes to one sentence. */
function describe(
  code: LinkFault,
  field: string,
  message: string,
  ...fixes: readonly string[]
): LinkProblem {
  const text = fixes.join(", or ");
  const fix = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  return text === "" ? { code, field, message } : { code, field, message, fix };
}
