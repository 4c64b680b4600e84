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
import {
  findLinkProblems,
  linkProblem,
  readSubject,
  systemNames,
  type Subject,
} from "./find-link-problems.ts";

/** A link told to a model, before or after it is saved: what its visitors meet, what is amiss. */

const encounter = z.looseObject({
  action: z.enum(["open_app", "preview_page", "redirect", "default_page"]),
  /** Where a redirect goes, or where the preview page leads those who lack the app. */
  to: z.string().optional(),
  why: z.string(),
});
const encounters = z.looseObject({ with_app: encounter, without_app: encounter });
type Encounter = z.output<typeof encounter>;
type Encounters = z.output<typeof encounters>;

export const explanation = z.looseObject({
  visits: z.looseObject({ ios: encounters, android: encounters, desktop: encounter }),
  problems: z.array(linkProblem),
});
export type Explanation = z.output<typeof explanation>;

export function explainVisits(
  link: VisitedLink,
  apps: VisitedApps,
  options: VisitOptions = {},
): Explanation {
  const subject = readSubject(link, apps, options);
  return {
    visits: {
      ios: describeMobile(subject, "ios"),
      android: describeMobile(subject, "android"),
      desktop: describeVisit(subject, "desktop"),
    },
    problems: [...findLinkProblems(subject)],
  };
}

const wayNames: Readonly<Record<Destination["reason"], string>> = {
  ios_fallback_url: "ios_fallback_url",
  android_fallback_url: "android_fallback_url",
  app_store: "the App Store",
  play_store: "Google Play",
  url: "url",
};

/** No header tells them apart (`platform.ts`). */
const alike = "and Safari on an iPad";

function describeMobile(subject: Subject, platform: Mobile): Encounters {
  const without_app = describeVisit(subject, platform);
  const system = systemNames[platform];
  if (subject.choices[platform] === "none") {
    // The association files name every app of a project, and for every path.
    const why = `No ${system} app is on the link; another app of the project may still take it.`;
    return { with_app: { ...without_app, why }, without_app };
  }
  if (!canOpen(subject, platform)) {
    const why = `${system} cannot verify the app, so the link opens in the browser.`;
    return { with_app: { ...without_app, why }, without_app };
  }
  const exceptions = "in-app browsers and taps on the link's own domain get without_app";
  const why = `${system} opens the app first; ${exceptions}.`;
  return { with_app: { action: "open_app", why }, without_app };
}

/** An app whose record is not at hand is given the benefit of the doubt. */
function canOpen({ apps: { ios_app, android_app } }: Subject, platform: Mobile): boolean {
  if (platform === "ios") return ios_app === undefined || canIosOpen(ios_app);
  return android_app === undefined || canAndroidOpen(android_app);
}

function describeVisit({ link, apps, options, choices }: Subject, platform: Platform): Encounter {
  const visit = decideVisit(link, apps, { platform }, options);
  const system = systemNames[platform];
  const choice = platform === "desktop" ? "none" : choices[platform];
  switch (visit.action) {
    case "redirect": {
      const { action, to } = visit;
      const way = wayNames[visit.reason];
      if (platform === "desktop") {
        return { action, to, why: `${system} visitors, ${alike}, go to ${way}.` };
      }
      const cause =
        choice === "none"
          ? `No ${system} app is on the link`
          : "enable_forced_redirect skips the preview page";
      return { action, to, why: `${cause}; ${way} is the first way there is.` };
    }
    case "preview_page": {
      const { action, open, next } = visit;
      const isShut = open === undefined && choice !== "unknown";
      const button = isShut ? "no Open button that works" : "an Open button";
      const way = next === undefined ? "no other way on" : `leads on to ${wayNames[next.reason]}`;
      const why = `The preview page has ${button} and ${way}.`;
      return { action, ...(next && { to: next.to }), why };
    }
    // Tags are for bots, which are not described.
    case "default_page":
    case "tags_page": {
      const why = `${system} visitors have nowhere to go but the project's default page.`;
      return { action: "default_page", why };
    }
  }
}
