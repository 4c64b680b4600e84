import * as z from "zod";
import {
  canAndroidOpen,
  canIosOpen,
  decideVisit,
  type Destination,
  type Mobile,
  type Platform,
  type VisitedApps,
  type VisitedLink,
  type VisitOptions,
} from "./decide-visit.ts";
import { readExplainedLink, systemNames, type ExplainedLink } from "./explained-link.ts";
import { findLinkProblems, linkProblem } from "./find-link-problems.ts";

/** Explains a saved or unsaved link to assistants: what visitors see, and what is wrong with it. */

const outcome = z.looseObject({
  action: z.enum(["open_app", "preview_page", "redirect", "default_page"]),
  /** Where the visitor is redirected, or goes from the preview page without the app. */
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

/** Safari on an iPad sends the same headers as on a Mac (see `read-platform.ts`). */
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

/** The association files contain every app, and exclude paths of links without apps. */
function explainOtherApps({ appSources: { ios, android } }: ExplainedLink): string {
  if (ios !== "none" || android !== "none") return ", but another app in the project may open it.";
  return ". Links without any app stay in the browser.";
}

/** An app without a known record is assumed to work. */
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
    // Only bots see `tags_page`, and bots are not described.
    case "default_page":
    case "tags_page": {
      const why = `${system} visitors have no destination, so they see the project's default page.`;
      return { action: "default_page", why };
    }
  }
}
