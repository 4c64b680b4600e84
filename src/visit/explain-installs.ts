import {
  decideVisit,
  readDestination,
  type Mobile,
  type VisitedApps,
  type VisitedLink,
  type VisitOptions,
} from "./decide-visit.ts";
import { readExplainedLink, type ExplainedLink } from "./explained-link.ts";
import { findButtonKind } from "./page-buttons.ts";

/** Whether an app that is installed after a visit gets the link, and why. */
type InstallOutcome = {
  readonly matched: "exactly" | "by_likeness" | "never" | "not_known";
  readonly why: string;
};

export type InstallOptions = VisitOptions & {
  /** Undefined if unknown. */
  readonly plan?: "free" | "pro" | undefined;
  /** Whether the App Store button copies the link's address. */
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
  // In an in-app browser, only Android lets a button open another app.
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

/** Only the App Store button copies the address, not a button to another fallback. */
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
