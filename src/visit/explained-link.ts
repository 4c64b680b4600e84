import type { FieldProblem } from "../contract/problem.ts";
import { checkLink } from "../contract/rules/link-rules.ts";
import { isBlank } from "../contract/text.ts";
import type { Mobile, VisitedApps, VisitedLink, VisitOptions } from "./decide-visit.ts";

/** A link to explain, with its known apps and the fields that the API would reject. */
export type ExplainedLink = {
  readonly link: VisitedLink;
  readonly apps: VisitedApps;
  readonly options: VisitOptions;
  readonly appSources: Readonly<Record<Mobile, AppSource>>;
  readonly faults: readonly FieldProblem[];
};

/**
 * Where an app's fields come from. `unknown` means that the link has an app whose record is
 * missing.
 */
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
  // The path of a saved link was accepted by its server, so our rules are not applied.
  const faults = isSaved(link)
    ? checkLink({ ...link, path: undefined }, "update").problems
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

/** The app that saving the draft would register. */
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
