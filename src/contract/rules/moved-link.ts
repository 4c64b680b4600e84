import { normalizeId } from "../fields.ts";
import type { JsonObject } from "../json.ts";
import type { LinkFields } from "../links.ts";
import { isBlank } from "../text.ts";
import { normalizeForSearch } from "./link-path.ts";
import { isStoreAddress } from "./store-address.ts";
import { readUrl } from "./web-address.ts";

/** Which changes of a link that is there send its visitors somewhere else. */

/** Each system's app and fallback; without either, its visitors go to `url`. */
const systems = [
  { app: "ios_app", fallback: "ios_fallback_url" },
  { app: "android_app", fallback: "android_fallback_url" },
] as const;

/**
 * Whether a change leads visitors to another host or app, or away from one: to take a destination
 * away and then to give a first one would come to the same. A destination is a first one only where
 * the visitors of that system were led nowhere before. Of what cannot be read every destination is
 * another one.
 */
export function movesDestination(before: JsonObject | undefined, fields: LinkFields): boolean {
  const { url } = fields;
  const isUnknown = (...names: readonly string[]) =>
    before === undefined || names.some((name) => before[name] === undefined);
  if (url !== undefined && (isUnknown("url") || isElsewhere(before?.["url"], url))) return true;
  return systems.some(({ app, fallback }) => {
    const address = fields[fallback];
    const choice = fields[app];
    if (address === undefined && choice === undefined) return false;
    if (before === undefined || isUnknown(fallback, `${app}_id`, "url")) return true;
    const id = before[`${app}_id`];
    const hasApp = !isBlank(id);
    const web = isBlank(before[fallback]) ? before["url"] : before[fallback];
    if (choice !== undefined && movesApp({ id, isLed: !isBlank(web) }, choice)) return true;
    if (address === undefined) return false;
    // Until now the app's store was what visitors without the app met.
    if (isBlank(before[fallback]) && hasApp && !isBlank(address)) return true;
    return isBlank(before[fallback]) && isBlank(address) ? false : isElsewhere(web, address);
  });
}

/** Whether the link's address changes. A link that cannot be read may have any path. */
export function movesPath(before: JsonObject | undefined, { path }: LinkFields): boolean {
  if (path === undefined) return false;
  return normalizeForSearch(path ?? "") !== before?.["path"];
}

type Choice = NonNullable<LinkFields["ios_app"] | LinkFields["android_app"]> | null;

/** `isLed` tells whether visitors were led anywhere without an app. */
function movesApp(
  { id, isLed }: { readonly id: unknown; readonly isLed: boolean },
  choice: Choice,
): boolean {
  if (!isBlank(id)) return normalizeId(choice?.id ?? "") !== normalizeId(String(id));
  return isLed && Object.values(choice ?? {}).some((value) => !isBlank(value));
}

/** A first destination is none of another; one that cannot be read may lead anywhere. */
function isElsewhere(from: unknown, to: string | null): boolean {
  if (isBlank(from) || from === to) return false;
  // Each app of a store has a page on the store's one host.
  if ([String(from), to ?? ""].some(isStoreAddress)) return true;
  const host = readUrl(String(from))?.host;
  return host === undefined || readUrl(to ?? "")?.host !== host;
}
