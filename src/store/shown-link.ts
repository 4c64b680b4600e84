import type { Link } from "../contract/links.ts";
import type { LinkTable } from "./tables.ts";

/** Of a link's row what a caller sees. */

/** In the order of the spec. */
export const shownColumns = [
  "id",
  "name",
  "path",
  "url",
  "social_description",
  "social_image_url",
  "social_title",
  "shortened_path",
  "android_fallback_url",
  "ios_fallback_url",
  "referrer",
  "provider_token",
  "campaign_token",
  "android_app_id",
  "ios_app_id",
  "enable_forced_redirect",
  "ios_deferred_deep_linking_enabled",
  "clicks",
] as const satisfies readonly (keyof LinkTable)[];

export type ShownLink = Pick<LinkTable, (typeof shownColumns)[number]>;

/** Of a whole row. */
export function pickShown(row: ShownLink): Link {
  const shown = shownColumns.map((column) => [column, row[column]]);
  // They are those of a link's row.
  return toLink(Object.fromEntries(shown) as ShownLink);
}

export function toLink(row: ShownLink): Link {
  return {
    ...row,
    enable_forced_redirect: row.enable_forced_redirect === 1,
    ios_deferred_deep_linking_enabled: row.ios_deferred_deep_linking_enabled === 1,
  };
}
