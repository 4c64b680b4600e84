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

/** Of a whole row, or what is shown of it; written out, for a copy of a row takes far longer. */
export function toLink(row: ShownLink): Link {
  return {
    id: row.id,
    name: row.name,
    path: row.path,
    url: row.url,
    social_description: row.social_description,
    social_image_url: row.social_image_url,
    social_title: row.social_title,
    shortened_path: row.shortened_path,
    android_fallback_url: row.android_fallback_url,
    ios_fallback_url: row.ios_fallback_url,
    referrer: row.referrer,
    provider_token: row.provider_token,
    campaign_token: row.campaign_token,
    android_app_id: row.android_app_id,
    ios_app_id: row.ios_app_id,
    enable_forced_redirect: row.enable_forced_redirect === 1,
    ios_deferred_deep_linking_enabled: row.ios_deferred_deep_linking_enabled === 1,
    clicks: row.clicks,
  };
}
