import * as z from "zod";
import { androidApps, iosApps } from "../contract/apps.ts";
import { links } from "../contract/links.ts";
import type { FieldProblem } from "../contract/problem.ts";
import { checkAndroidApp, checkIosApp } from "../contract/rules/app-rules.ts";
import { checkLink } from "../contract/rules/link-rules.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import { isBlank } from "../contract/text.ts";
import {
  decideVisit,
  selectAppLinkFingerprints,
  type Destination,
  type Mobile,
  type Platform,
  type VisitedApps,
  type VisitedLink,
  type VisitOptions,
} from "./decide-visit.ts";

/** What is missing in a link or contradicts itself, for whoever explains it. */

export const linkProblem = z.looseObject({
  field: z.string().optional(),
  message: z.string(),
  fix: z.string().optional(),
});
export type LinkProblem = z.output<typeof linkProblem>;

/** A link with all that was found out about its apps. */
export type Subject = {
  readonly link: VisitedLink;
  readonly apps: VisitedApps;
  readonly options: VisitOptions;
  readonly choices: Readonly<Record<Mobile, AppChoice>>;
  readonly faults: readonly FieldProblem[];
};

/** An unknown app is on the link too, but its record is not at hand. */
type AppChoice = "none" | "record" | "draft" | "unknown";

export const systemNames = { ios: "iOS", android: "Android", desktop: "Desktop" } as const;
const appEndpoints = { ios: iosApps, android: androidApps } as const;

/** Apple's rule for `ct`; spaces at its ends are refused as well (link-services.md §3). */
const campaignTokenCharacters = 30;

export function findLinkProblems(subject: Subject): readonly LinkProblem[] {
  const ofSystems = (["ios", "android"] as const).flatMap((platform) => [
    ...findAppFaults(subject, platform),
    ...findUnknownApp(subject, platform),
    ...findIgnoredAppFields(subject, platform),
    ...findDeadEnd(subject, platform),
  ]);
  return [
    ...findRuleFaults(subject),
    ...ofSystems,
    ...findMissingUrl(subject),
    ...findIosDoubts(subject),
    ...findAndroidDoubts(subject),
    ...findCampaignDoubts(subject),
    ...findReferrerDoubts(subject),
    ...findAddressDoubts(subject),
  ];
}

export function readSubject(link: VisitedLink, apps: VisitedApps, options: VisitOptions): Subject {
  const ios = link.ios_app;
  const android = link.android_app;
  const ios_app = apps.ios_app ?? readDraft(ios, ios?.bundle_id);
  const android_app = apps.android_app ?? readDraft(android, android?.package_name);
  const ios_app_id = link.ios_app_id ?? ios?.id ?? null;
  const android_app_id = link.android_app_id ?? android?.id ?? null;
  // A stored path was taken by its deployment, whatever our own rules would say of it.
  const { problems: faults } = isSaved(link)
    ? checkLink({ ...link, path: undefined }, "update")
    : checkLink(link, "create");
  return {
    link: { ...link, ios_app_id, android_app_id },
    apps: { ios_app, android_app },
    options,
    choices: {
      ios: classify(apps.ios_app, ios_app, ios_app_id),
      android: classify(apps.android_app, android_app, android_app_id),
    },
    faults,
  };
}

/** The app that a draft would create on the fly. */
function readDraft<Fields extends { readonly id?: string | null | undefined }>(
  fields: Fields | null | undefined,
  identifier: string | null | undefined,
): Fields | undefined {
  return fields && isBlank(fields.id) && !isBlank(identifier) ? fields : undefined;
}

function classify(record: unknown, app: unknown, id: string | null): AppChoice {
  if (record !== undefined) return "record";
  if (app !== undefined) return "draft";
  return isBlank(id) ? "none" : "unknown";
}

/** What the API would refuse, in its own words. */
function findRuleFaults(subject: Subject): readonly LinkProblem[] {
  const { provider_token, campaign_token } = subject.link;
  const isOneMissing = isBlank(provider_token) !== isBlank(campaign_token);
  return subject.faults.map((fault) => {
    const isToken = fault.field === "provider_token" || fault.field === "campaign_token";
    const fix = onLink(subject, "both provider_token and campaign_token, or clear both");
    return isToken && isOneMissing ? { ...fault, fix: say(fix) } : fault;
  });
}

function findAppFaults(subject: Subject, platform: Mobile): readonly LinkProblem[] {
  const { ios_app, android_app } = subject.apps;
  const ios = ios_app && checkIosApp(ios_app);
  const android = android_app && checkAndroidApp(android_app);
  const checked = platform === "ios" ? ios : android;
  return (checked?.problems ?? []).map(({ field, message }) => ({
    field: `${platform}_app.${field}`,
    message,
    fix: say(onApp(subject, platform, field)),
  }));
}

function findUnknownApp(subject: Subject, platform: Mobile): readonly LinkProblem[] {
  const field = `${platform}_app`;
  if (subject.choices[platform] !== "unknown" || isFaulty(subject, field)) return [];
  const app = `${systemNames[platform]} app`;
  const message = `The ${app}'s record is not at hand, so its store page and faults are left out.`;
  return [{ field, message, fix: `Look for it with ${appEndpoints[platform].index.tool}.` }];
}

/** api-spec.md, "Link": beside its name, an app's fields are given only to create it. */
function findIgnoredAppFields(subject: Subject, platform: Mobile): readonly LinkProblem[] {
  if (subject.choices[platform] !== "record") return [];
  const ignored = platform === "ios" ? listIosChanges(subject) : listAndroidChanges(subject);
  if (ignored.length === 0) return [];
  const names = ignored.join(" and ");
  const message = `The app is registered already, so ${names} would be ignored.`;
  return [{ field: `${platform}_app`, message, fix: say(onApp(subject, platform, names)) }];
}

function listIosChanges({ link, apps }: Subject): readonly string[] {
  const { values: draft } = checkIosApp(link.ios_app ?? {});
  const { values: record } = checkIosApp(apps.ios_app ?? {});
  const names = ["team_id", "app_store_id"] as const;
  return names.filter((name) => !isBlank(draft[name]) && draft[name] !== record[name]);
}

function listAndroidChanges({ link, apps }: Subject): readonly string[] {
  const draft = checkAndroidApp(link.android_app ?? {}).values.fingerprints.join();
  const record = checkAndroidApp(apps.android_app ?? {}).values.fingerprints.join();
  return draft === "" || draft === record ? [] : ["fingerprints"];
}

/** Visitors who arrive nowhere, or not where an app on the link lets one expect. */
function findDeadEnd(subject: Subject, platform: Mobile): readonly LinkProblem[] {
  const field = `${platform}_fallback_url` as const;
  const choice = subject.choices[platform];
  // An address that is refused is mended first, and an unknown app may have a store page.
  if (choice === "unknown" || isFaulty(subject, field) || isFaulty(subject, "url")) return [];
  const who = `${systemNames[platform]} visitors`;
  const way = findWay(subject, platform);
  const isStoreMissing = platform === "ios" && choice !== "none";
  const store = isStoreMissing ? [onApp(subject, platform, "app_store_id")] : [];
  if (way?.reason === "url" && isStoreMissing) {
    const message = `The app has no App Store id: ${who} who lack it go to url instead.`;
    const fix = say(...store, onLink(subject, field));
    return [{ field: "ios_app.app_store_id", message, fix }];
  }
  if (way !== undefined) return [];
  const fix = say(onLink(subject, `${field} or url`), ...store);
  if (choice === "none") return [{ field, message: `${who} have nowhere to go.`, fix }];
  if (subject.link.enable_forced_redirect === true) {
    const message = `enable_forced_redirect has nowhere to send ${who} who lack the app.`;
    return [{ field: "enable_forced_redirect", message, fix }];
  }
  return [{ field, message: `${who} who lack the app have nowhere to go.`, fix }];
}

function findMissingUrl(subject: Subject): readonly LinkProblem[] {
  if (isFaulty(subject, "url") || findWay(subject, "desktop") !== undefined) return [];
  const message = "Desktop visitors have no url to go to and meet the project's default page.";
  return [{ field: "url", message, fix: say(onLink(subject, "url")) }];
}

function findIosDoubts(subject: Subject): readonly LinkProblem[] {
  const { link, apps, options, choices } = subject;
  const problems: LinkProblem[] = [];
  const visit = decideVisit(link, apps, { platform: "ios" }, options);
  if (apps.ios_app && visit.action === "preview_page" && visit.open === undefined) {
    // The same-domain trap: see `OpenButton`.
    const message =
      "The preview page cannot open the app: on the link's own domain iOS stays in the browser.";
    const { tool } = iosApps.update;
    const fix = `Call ${tool} with custom_scheme.`;
    problems.push({ field: "ios_app.custom_scheme", message, fix });
  }
  const field = "ios_deferred_deep_linking_enabled";
  if (link[field] === true && choices.ios === "none") {
    const message = "It does nothing: no iOS app is on the link.";
    problems.push({ field, message, fix: say(onLink(subject, "ios_app")) });
  } else if (link[field] === true && link.enable_forced_redirect === true) {
    // What a visitor's device looks like is collected by the page (link-services.md §1).
    const message = "It needs the preview page, which enable_forced_redirect skips.";
    const fix = say(onLink(subject, "only one of the two as true"));
    problems.push({ field, message, fix });
  }
  return problems;
}

function findAndroidDoubts(subject: Subject): readonly LinkProblem[] {
  const app = subject.apps.android_app;
  if (app === undefined) return [];
  const { length: count } = checkAndroidApp(app).values.fingerprints;
  const { length: good } = selectAppLinkFingerprints(app);
  if (good === count) return [];
  const share = `${count - good} of ${count} fingerprints`;
  const message =
    good === 0
      ? "No fingerprint is SHA-256 (32 pairs), so Android will not open the app by itself."
      : `${share} are not SHA-256 (32 pairs), and Android ignores them.`;
  const fix = say(onApp(subject, "android", "all fingerprints as SHA-256"));
  return [{ field: "android_app.fingerprints", message, fix }];
}

function findCampaignDoubts(subject: Subject): readonly LinkProblem[] {
  const { link, choices } = subject;
  const token = link.campaign_token ?? "";
  const problems: LinkProblem[] = [];
  if (token.length > campaignTokenCharacters || token !== token.trim()) {
    const rule = `at most ${campaignTokenCharacters} characters and no space at either end`;
    const message = `Apple takes a campaign token of ${rule}.`;
    const fix = say(onLink(subject, "such a campaign_token"));
    problems.push({ field: "campaign_token", message, fix });
  }
  const isSet = !isBlank(token) && !isBlank(link.provider_token);
  const way = findWay(subject, "ios");
  if (isSet && choices.ios !== "unknown" && way?.reason !== "app_store") {
    const cause = way?.reason === "ios_fallback_url" ? way.reason : "no App Store page";
    const message = `The store tokens are not used: iOS visitors meet ${cause}.`;
    problems.push({ field: "provider_token", message });
  }
  return problems;
}

function findReferrerDoubts(subject: Subject): readonly LinkProblem[] {
  const { link, options, choices } = subject;
  const field = "referrer";
  if (isBlank(link[field])) return [];
  if (options.link_in_referrer === true) {
    const message = "referrer is ignored: the project's Link in Referrer setting is on.";
    return [{ field, message, fix: "Put the parameters into the query of the link's address." }];
  }
  const way = findWay(subject, "android");
  if (choices.android === "unknown" || way?.reason === "play_store") return [];
  const cause = way?.reason === "android_fallback_url" ? way.reason : "no Google Play page";
  return [{ field, message: `referrer is not used: Android visitors meet ${cause}.` }];
}

const addressFields = ["url", "ios_fallback_url", "android_fallback_url"] as const;

function findAddressDoubts(subject: Subject): readonly LinkProblem[] {
  const problems: LinkProblem[] = [];
  for (const field of [...addressFields, "social_image_url"] as const) {
    const address = subject.link[field];
    if (isFaulty(subject, field)) continue;
    if (/^http:/i.test(address ?? "")) {
      const fix = say(onLink(subject, `an https ${field}`));
      problems.push({ field, message: `${field} is http, not https.`, fix });
    }
    if (field !== "social_image_url" && isSamePage(address, subject.options.address)) {
      const message = `${field} is the link's own address: visitors would go in circles.`;
      problems.push({ field, message, fix: say(onLink(subject, `another ${field}`)) });
    }
  }
  return problems;
}

/** Query and fragment lead back to the same link. */
function isSamePage(one: string | null | undefined, other: string | undefined): boolean {
  const [first, second] = [one, other].map((address) => (address ? readUrl(address) : undefined));
  return first !== undefined && first.host === second?.host && first.pathname === second.pathname;
}

/** Where those go who lack the app, by themselves or on from the preview page. */
function findWay({ link, apps, options }: Subject, platform: Platform): Destination | undefined {
  const visit = decideVisit(link, apps, { platform }, options);
  if (visit.action === "redirect") return visit;
  return visit.action === "preview_page" ? visit.next : undefined;
}

function isFaulty({ faults }: Subject, name: string): boolean {
  return faults.some(({ field }) => field === name);
}

function isSaved(link: VisitedLink): boolean {
  return link.id !== undefined;
}

function onLink(subject: Subject, what: string): string {
  return isSaved(subject.link) ? `call ${links.update.tool} with ${what}` : `set ${what}`;
}

function onApp({ choices }: Subject, platform: Mobile, what: string): string {
  if (choices[platform] === "draft") return `set ${what} in ${platform}_app`;
  return `call ${appEndpoints[platform].update.tool} with ${what}`;
}

/** One sentence of one or more ways to mend a problem. */
function say(...ways: readonly string[]): string {
  const text = ways.join(", or ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
