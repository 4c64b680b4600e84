import type { Awaitable } from "../contract/awaitable.ts";
import type { Link } from "../contract/links.ts";
import { prepareQuery } from "./prepared-query.ts";
import { shownColumns, type ShownLink } from "./shown-link.ts";
import type { Tenant } from "./tenant.ts";

/**
 * What leads a visitor of a link, and what only its page shows: most visitors see no page, and each
 * column that is read costs them a hundredth of their visit.
 */

const textColumns = [
  "social_title",
  "social_description",
  "social_image_url",
] as const satisfies readonly (keyof ShownLink)[];
type TextColumn = (typeof textColumns)[number];

/** A link's name is internal: visitors get no answer that contains it. */
const isLeading = (
  column: keyof ShownLink,
): column is Exclude<keyof ShownLink, TextColumn | "clicks" | "name"> =>
  column !== "clicks" && column !== "name" && !textColumns.some((text) => text === column);
export const leadingColumns = shownColumns.filter(isLeading);

export type LeadingLink = Pick<Link, (typeof leadingColumns)[number]>;

/** Written out, as all of a row is by `toLink`. */
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

export type LinkTexts = Pick<Link, TextColumn>;

const selectTexts = prepareQuery((db) =>
  db.selectFrom("links").select(textColumns).where("project_id", "=", "").where("id", "=", ""),
);

export function findLinkTexts(
  { db, projectId }: Tenant,
  id: string,
): Awaitable<LinkTexts | undefined> {
  return selectTexts(db, [projectId, id]);
}
