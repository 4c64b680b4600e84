import { androidApps, iosApps, type AndroidApp, type IosApp } from "../contract/apps.ts";
import type { Read } from "../contract/endpoint.ts";
import type { VisitedApps, VisitOptions } from "../visit/decide-visit.ts";
import { readExplainedLink } from "../visit/explained-link.ts";
import { findLinkProblems } from "../visit/find-link-problems.ts";
import type { Found } from "./findings.ts";

/** The apps of a project by their ids; undefined where not all of them could be read. */
export type AuditedApps = {
  readonly ios: ReadonlyMap<string, Read<IosApp>> | undefined;
  readonly android: ReadonlyMap<string, Read<AndroidApp>> | undefined;
};

export type AuditedVisits = Pick<VisitOptions, "link_in_referrer" | "second_host">;

/** What is wrong with an app is what would be wrong with a link that has nothing but the app. */
export function listAppFaults(
  { ios, android }: AuditedApps,
  visits: AuditedVisits,
): readonly Found[] {
  return [
    ...[...(ios?.values() ?? [])].flatMap((app) => listFaults("ios", app, visits)),
    ...[...(android?.values() ?? [])].flatMap((app) => listFaults("android", app, visits)),
  ];
}

function listFaults(
  platform: "ios" | "android",
  app: Read<IosApp> | Read<AndroidApp>,
  visits: AuditedVisits,
): readonly Found[] {
  // A field that is not shown is unknown, not empty.
  if (appFields[platform].some((field) => app[field] === undefined)) return [];
  const { id } = app;
  const link = { id, url, [`${platform}_app_id`]: id };
  const apps: VisitedApps = { [`${platform}_app`]: app };
  const problems = findLinkProblems(readExplainedLink(link, apps, visits));
  const own = problems.filter(({ field = "" }) => field.startsWith(`${platform}_app.`));
  return own.map(({ code, field, message }) =>
    code === "app_invalid" ? { code, id, field, detail: { rule: message } } : { code, id },
  );
}

const appFields = {
  ios: Object.keys(iosApps.show.response.shape),
  android: Object.keys(androidApps.show.response.shape),
} as const;

/** A link that leads somewhere, so that nothing but the app is at fault. */
const url = "https://destination.example";
