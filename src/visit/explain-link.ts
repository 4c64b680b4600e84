import * as z from "zod";
import {
  canAndroidOpen,
  canIosOpen,
  decideVisit,
  readDestination,
  type Destination,
  type Mobile,
  type Platform,
  type VisitedApps,
  type VisitedLink,
  type VisitOptions,
} from "./decide-visit.ts";
import {
  readExplainedLink,
  systemNames,
  findLinkProblems,
  linkProblem,
  type ExplainedLink,
} from "./find-link-problems.ts";
import { findButtonKind } from "./page-buttons.ts";

/** Explains a link to assistants: what visitors see, and what is wrong with the link. */

const outcome = z.looseObject({
  action: z.enum(["open_app", "preview_page", "redirect", "default_page"]),
  /** Where the visitor goes, either by a redirect or from the preview page. */
  to: z.string().optional(),
  why: z.string(),
});
type VisitOutcome = z.output<typeof outcome>;
const outcomes = z.looseObject({ with_app: outcome, without_app: outcome });

export const explanation = z.looseObject({
  visits: z.looseObject({ ios: outcomes, android: outcomes, desktop: outcome }),
  problems: z.array(linkProblem),
});

export function explainVisits(
  link: VisitedLink,
  apps: VisitedApps,
  options: VisitOptions = {},
): z.output<typeof explanation> {
  const explained = readExplainedLink(link, apps, options);
  return {
    visits: {
      ios: describeMobile(explained, "ios"),
      android: describeMobile(explained, "android"),
      desktop: describeVisit(explained, "desktop"),
    },
    problems: findLinkProblems(explained).map(({ code: _code, ...problem }) => problem),
  };
}

const destinationNames: Readonly<Record<Destination["reason"], string>> = {
  ios_fallback_url: "ios_fallback_url",
  android_fallback_url: "android_fallback_url",
  app_store: "the App Store",
  play_store: "Google Play",
  url: "the link's url",
};

/** Safari on an iPad counts as a desktop, because it sends a Mac's headers. */
const safariOnIpad = "and Safari on an iPad";

function describeMobile(explained: ExplainedLink, platform: Mobile): z.output<typeof outcomes> {
  const without_app = describeVisit(explained, platform);
  const system = systemNames[platform];
  const isOnLink = explained.appSources[platform] !== "none";
  if (!isOnLink || !canOpen(explained, platform)) {
    const why = isOnLink
      ? `${system} cannot verify the app, so the link opens in the browser.`
      : `The link has no ${system} app${explainOtherApps(explained)}`;
    return { with_app: { ...without_app, why }, without_app };
  }
  const exceptions =
    "in-app browsers, and taps on a page of the link's own domain, get without_app";
  const why = `${system} opens the app. Exceptions: ${exceptions}.`;
  return { with_app: { action: "open_app", why }, without_app };
}

/** The association files let any app of a project open its links, except links without an app. */
function explainOtherApps({ appSources: { ios, android } }: ExplainedLink): string {
  if (ios !== "none" || android !== "none") return ", but another app in the project may open it.";
  return ". Links without any app stay in the browser.";
}

/** Whether the system can open the app. If the app could not be read, assumes that it can. */
function canOpen({ apps: { ios_app, android_app } }: ExplainedLink, platform: Mobile): boolean {
  if (platform === "ios") return ios_app === undefined || canIosOpen(ios_app);
  return android_app === undefined || canAndroidOpen(android_app);
}

function describeVisit(explained: ExplainedLink, platform: Platform): VisitOutcome {
  const { link, apps, options, appSources } = explained;
  const visit = decideVisit(link, apps, { platform }, options);
  const system = systemNames[platform];
  const source = platform === "desktop" ? "none" : appSources[platform];
  switch (visit.action) {
    case "redirect": {
      const { action, to } = visit;
      const way = destinationNames[visit.reason];
      if (platform === "desktop") {
        return { action, to, why: `${system} visitors, ${safariOnIpad}, go to ${way}.` };
      }
      const forced = "enable_forced_redirect skips the preview page";
      const cause = source === "none" ? `The link has no ${system} app` : forced;
      return { action, to, why: `${cause}, so visitors go to ${way}.` };
    }
    case "preview_page": {
      const { action, open, next } = visit;
      const destination = next && destinationNames[next.reason];
      const isButtonMissing = open === undefined && source !== "unknown";
      const button = isButtonMissing ? "no working Open button" : "an Open button";
      const way = destination === undefined ? "no other button" : `a button to ${destination}`;
      const why = `The preview page has ${button} and ${way}.`;
      return { action, ...(next && { to: next.to }), why };
    }
    // Only bots get `tags_page`, and bots are not described.
    case "default_page":
    case "tags_page": {
      const why = `${system} visitors have no destination, so they see the project's default page.`;
      return { action: "default_page", why };
    }
  }
}

/** Whether an app that is installed after a visit gets the link, and why. */
type InstallOutcome = {
  readonly matched: "exactly" | "by_likeness" | "never" | "not_known";
  readonly why: string;
};

export type InstallOptions = VisitOptions & {
  readonly plan?: "free" | "pro" | undefined;
  /** True if the App Store button copies the link's URL. */
  readonly clipboard?: boolean | undefined;
};

/** Explains what happens in in-app browsers and after an install. */
export function explainInstalls(
  link: VisitedLink,
  apps: VisitedApps,
  options: InstallOptions = {},
): {
  readonly in_app_browsers: string;
  readonly installs: { readonly ios: InstallOutcome; readonly android: InstallOutcome };
} {
  const explained = readExplainedLink(link, apps, options);
  return {
    in_app_browsers: explainInside(explained),
    installs: {
      ios: explainIos(explained, options),
      android: explainAndroid(explained, options),
    },
  };
}

function explainInside(explained: ExplainedLink): string {
  const [ios, android] = [describeInside(explained, "ios"), describeInside(explained, "android")];
  const ways = ios === android ? `${ios}.` : `on iOS ${ios}; on Android ${android}.`;
  return `In-app browsers, such as Instagram's, do not open the app by themselves: ${ways}`;
}

function describeInside({ link, apps, options, appSources }: ExplainedLink, platform: Mobile) {
  const visit = decideVisit(link, apps, { platform }, options);
  if (visit.action === "redirect") return "visitors are redirected at once";
  if (visit.action !== "preview_page") return "visitors see the project's default page";
  // From an in-app browser, a button can open the app on Android, but not on iOS.
  const hasButton = visit.open !== undefined || appSources.android === "unknown";
  const isOpening = platform === "android" && hasButton;
  const opens = isOpening ? ", and has a button that opens the app" : "";
  return `the preview page says how to leave them${opens}`;
}

const needsPlan = "Deferred deep linking needs the Pro plan.";

function explainNever(why: string): InstallOutcome {
  return { matched: "never", why };
}

function explainUnknown(why: string): InstallOutcome {
  return { matched: "not_known", why };
}

function explainIos(explained: ExplainedLink, options: InstallOptions): InstallOutcome {
  const { link, appSources } = explained;
  if (link.ios_deferred_deep_linking_enabled !== true) {
    return explainNever("ios_deferred_deep_linking_enabled is off.");
  }
  if (appSources.ios === "none") return explainNever("The link has no iOS app.");
  if (link.enable_forced_redirect === true) {
    return explainNever(
      "Deferred deep linking needs the preview page, which enable_forced_redirect skips.",
    );
  }
  if (options.plan === "free") return explainNever(needsPlan);
  return {
    matched: "by_likeness",
    why:
      "The app gets the link once, if it starts within 10 minutes of the visit on a phone with " +
      "the same IP address and properties. It gets no link if visits to two links match, or " +
      "after a visit in Safari on an iPad. On mobile data or through a relay, the app gets the " +
      "link without the visit's query." +
      (options.clipboard === true ? explainPasting(explained, options) : ""),
  };
}

const pasting =
  " If the app reads the clipboard, the match is exact, because the App Store button copies the " +
  "link's address.";

/** The App Store button copies the URL, but buttons to other destinations do not. */
function explainPasting({ link, apps, appSources }: ExplainedLink, options: VisitOptions): string {
  const next = readDestination(decideVisit(link, apps, { platform: "ios" }, options));
  if (next !== undefined && findButtonKind(next) === "app_store") {
    return pasting;
  }
  if (appSources.ios !== "unknown" || next?.reason === "ios_fallback_url") return "";
  return (
    " The match is exact if the page has an App Store button and the app reads the address " +
    "that it copies."
  );
}

function explainAndroid(
  { link, apps, appSources }: ExplainedLink,
  options: InstallOptions,
): InstallOutcome {
  const visit = decideVisit(link, apps, { platform: "android" }, options);
  const reason = readDestination(visit)?.reason;
  const where = reason === undefined ? "do not go to a store" : `go to ${reason}`;
  const isUnknown = appSources.android === "unknown" && reason !== "android_fallback_url";
  if (reason !== "play_store" && !isUnknown) {
    return explainNever(
      `Visitors ${where}, and only the app's Google Play page passes the link on.`,
    );
  }
  if (options.link_in_referrer === false) {
    return explainNever(
      'The project\'s "Link in Referrer" setting is off. Ask the operator to turn it on.',
    );
  }
  if (options.plan === "free") return explainNever(needsPlan);
  if (isUnknown) return explainUnknown("The link's Android app could not be read.");
  if (options.link_in_referrer === undefined) {
    return explainUnknown(
      'It works if the project\'s "Link in Referrer" setting is on. The API does not show that ' +
        "setting.",
    );
  }
  return { matched: "exactly", why: "Google Play passes the visited address to the app." };
}
