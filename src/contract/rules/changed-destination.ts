import { normalizeId } from "../fields.ts";
import type { JsonObject } from "../json.ts";
import type { LinkFields } from "../links.ts";
import { isBlank } from "../text.ts";
import { normalizeForSearch } from "./link-path.ts";
import { isStoreAddress } from "./store-address.ts";
import { readUrl } from "./web-address.ts";

/** Decides which changes send an existing link's visitors to another destination. */

/**
 * The link fields for each platform's app and fallback URL. If both are empty, the platform's
 * visitors go to `url`.
 */
const systems = [
  { app: "ios_app", fallback: "ios_fallback_url" },
  { app: "android_app", fallback: "android_fallback_url" },
] as const;

/**
 * Whether a change redirects visitors to another host or app, or removes their destination. Setting
 * a first destination does not count. Removing a destination counts, because a second call could
 * then set another one. An unknown old value counts as changed.
 */
export function movesDestination(before: JsonObject | undefined, fields: LinkFields): boolean {
  const { url } = fields;
  const isUnknown = (...names: readonly string[]) =>
    before === undefined || names.some((name) => before[name] === undefined);
  if (url !== undefined && (isUnknown("url") || isMoved(before?.["url"], url))) return true;
  return systems.some(({ app, fallback }) => {
    const address = fields[fallback];
    const choice = fields[app];
    if (address === undefined && choice === undefined) return false;
    if (before === undefined || isUnknown(fallback, `${app}_id`, "url")) return true;
    const id = before[`${app}_id`];
    const hasApp = !isBlank(id);
    const web = isBlank(before[fallback]) ? before["url"] : before[fallback];
    const state = { id, hasDestination: !isBlank(web) };
    if (choice !== undefined && movesApp(state, choice)) return true;
    if (address === undefined) return false;
    // Before this change, visitors without the app went to the app's store page.
    if (isBlank(before[fallback]) && hasApp && !isBlank(address)) return true;
    return isBlank(before[fallback]) && isBlank(address) ? false : isMoved(web, address);
  });
}

/** Whether the link's path changes. An unknown old path counts as changed. */
export function movesPath(before: JsonObject | undefined, { path }: LinkFields): boolean {
  if (path === undefined) return false;
  return normalizeForSearch(path ?? "") !== before?.["path"];
}

type AppChoice = NonNullable<LinkFields["ios_app"] | LinkFields["android_app"]> | null;

/** `hasDestination`: whether the link had a `url` or a fallback URL for the platform. */
function movesApp(
  { id, hasDestination }: { readonly id: unknown; readonly hasDestination: boolean },
  choice: AppChoice,
): boolean {
  if (!isBlank(id)) return normalizeId(choice?.id ?? "") !== normalizeId(String(id));
  return hasDestination && Object.values(choice ?? {}).some((value) => !isBlank(value));
}

/** Setting a first destination is not a move. An invalid old URL counts as another host. */
function isMoved(from: unknown, to: string | null): boolean {
  if (isBlank(from) || from === to) return false;
  // All apps of a store share the store's host, so equal hosts do not mean the same app.
  if ([String(from), to ?? ""].some(isStoreAddress)) return true;
  const host = readUrl(String(from))?.host;
  return host === undefined || readUrl(to ?? "")?.host !== host;
}
