import type { ReadLink } from "../contract/links.ts";
import { fold, isBlank } from "../contract/text.ts";
import { digestOf } from "../text/digest.ts";
import type { Search } from "./findings.ts";

/**
 * Links that have the same name and lead to the same places with the same apps. Links of several
 * names are most likely meant to be several: by the links of each channel its visits are counted.
 */
export function createDuplicateSearch(): Search {
  /** Only the first link of a set is kept until there is a second one. */
  const sets = new Map<string, string[]>();
  return {
    add: (link) => {
      const parts = leading.map((field) => link[field] ?? "");
      if (parts.every((part) => isBlank(part) || part === false)) return;
      const key = digestOf([fold((link.name ?? "").trim()), ...parts]);
      const set = sets.get(key);
      if (set === undefined) sets.set(key, [link.id]);
      else set.push(link.id);
    },
    list: () => {
      const all = [...sets.values()].filter(({ length }) => length > 1);
      const detail = { sets: all.length };
      return all.flat().map((id) => ({ code: "duplicate", id, detail }));
    },
  };
}

/** Where visitors of a link arrive, and with what. */
const leading = [
  "url",
  "ios_fallback_url",
  "android_fallback_url",
  "ios_app_id",
  "android_app_id",
  "enable_forced_redirect",
  "ios_deferred_deep_linking_enabled",
  "referrer",
  "provider_token",
  "campaign_token",
] as const satisfies readonly (keyof ReadLink)[];
