import type { Fields } from "../support/remote.ts";

/** The records of a server that leaves out, nulls and adds fields, and gets some types wrong. */

const absent = new Set(["social_description", "provider_token", "clip_bundle_id", "updated_at"]);
const empty = new Set(["social_image_url", "campaign_token", "app_store_id", "created_at"]);
const wrong: Fields = {
  ios_deferred_deep_linking_enabled: "no",
  custom_domain_verified: "yes",
  links_count: "nine",
  unpublished_changes: 1,
  published_at: 1,
};
/** The paths of two links that are planned, changed and undone without a known destination. */
const withoutUrl = new Set<unknown>(["spring-2025", "summer"]);
const unknown: Fields = { rank: 7, owner: { id: 1, url: ["a", null] }, constructor: null };

/** Fields without a value are absent, as on a server that returns only what is set. */
export function alterRecord(record: Fields): Fields {
  const kept = Object.entries(record).flatMap(([name, value]) => {
    if (absent.has(name) || (name === "url" && withoutUrl.has(record["path"]))) return [];
    if (empty.has(name) || value === false) return [[name, wrong[name] ?? null]];
    return value === null ? [] : [[name, wrong[name] ?? value]];
  });
  return { ...Object.fromEntries(kept), ...unknown };
}
