import type { Awaitable } from "../contract/awaitable.ts";
import type { Link } from "../contract/links.ts";
import { prepareQuery } from "./prepared-query.ts";
import type { ShownLink } from "./shown-link.ts";
import type { Tenant } from "./tenant.ts";

/**
 * What leads a visitor of a link, and what only its page shows: most visitors see no page, and each
 * column that is read costs them a hundredth of their visit.
 */

export const leadingColumns = [
  "id",
  "path",
  "url",
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
] as const satisfies readonly (keyof Link)[];

export type LeadingLink = Pick<Link, (typeof leadingColumns)[number]>;

export function toLeadingLink(row: Pick<ShownLink, keyof LeadingLink>): LeadingLink {
  return {
    id: row.id,
    path: row.path,
    url: row.url,
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
  };
}

const textColumns = [
  "name",
  "social_title",
  "social_description",
  "social_image_url",
] as const satisfies readonly Exclude<keyof Link, keyof LeadingLink>[];

export type LinkTexts = Pick<Link, (typeof textColumns)[number]>;

const selectTexts = prepareQuery((db) =>
  db.selectFrom("links").select(textColumns).where("project_id", "=", "").where("id", "=", ""),
);

export function findLinkTexts(
  { db, projectId }: Tenant,
  id: string,
): Awaitable<LinkTexts | undefined> {
  return selectTexts(db, [projectId, id]);
}
