import type { JsonObject } from "../json.ts";
import type { LinkFields } from "../links.ts";
import { isBlank } from "../text.ts";
import { normalizeForSearch } from "./link-path.ts";
import { readUrl } from "./web-address.ts";

/** Which changes of a link that is there send its visitors somewhere else. */

const destinations = ["url", "ios_fallback_url", "android_fallback_url"] as const;
const apps = ["ios_app", "android_app"] as const;

/**
 * Whether a change leads to another host or app, or away from one: to take a destination away and
 * then to give a first one would come to the same. Of a link that cannot be read every destination
 * is another one.
 */
export function movesDestination(before: JsonObject | undefined, fields: LinkFields): boolean {
  return (
    destinations.some((field) => {
      const to = fields[field];
      return to !== undefined && (before === undefined || isElsewhere(before[field], to));
    }) ||
    apps.some((app) => {
      const choice = fields[app];
      if (choice === undefined) return false;
      const from = before?.[`${app}_id`];
      if (before === undefined) return true;
      return !isBlank(from) && choice?.id?.toLowerCase() !== from;
    })
  );
}

/** Whether the link's address changes although there are visitors who know it. */
export function movesPath(before: JsonObject | undefined, { path }: LinkFields): boolean {
  if (path === undefined) return false;
  if (before === undefined) return true;
  return normalizeForSearch(path ?? "") !== before["path"] && before["clicks"] !== 0;
}

/** A first destination is none of another; one that cannot be read may lead anywhere. */
function isElsewhere(from: unknown, to: string | null): boolean {
  if (isBlank(from) || from === to) return false;
  const host = readUrl(String(from))?.host;
  return host === undefined || readUrl(to ?? "")?.host !== host;
}
