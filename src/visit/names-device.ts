import type { VisitedApps, VisitedLink, Visitor } from "./decide-visit.ts";

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
