/**
 * The numbers and names of the API's policy: who may call what, how often, and how much.
 * Sources: api-spec.md, "Authentication" and "Limits". What the spec leaves open is marked.
 */

const appActions = ["index", "show", "create", "update", "destroy"] as const;

export const scopes = [
  "links.show",
  "links.index",
  "links.create",
  "links.update",
  "links.destroy",
  "short_links.create",
  ...appActions.map((action) => `ios_apps.${action}` as const),
  ...appActions.map((action) => `android_apps.${action}` as const),
  "page_templates.show",
  "page_templates.update",
  "page_templates.publish",
] as const;
export type Scope = (typeof scopes)[number];

/** From the least to the most powerful: a role includes the ones before it. */
export const roles = ["viewer", "manager", "owner"] as const;
export type Role = (typeof roles)[number];

export const plans = ["free", "pro"] as const;
export type Plan = (typeof plans)[number];

/** What the operator can switch off for a project. */
export type Feature = "page_templates";

/** Requests per key and window. Endpoints that name the same budget share it. */
export const budgets = {
  link_writes: { limit: 600, window_ms: 60_000 },
  url_shortening: { limit: 600, window_ms: 60_000 },
  ios_app_writes: { limit: 600, window_ms: 60_000 },
  android_app_writes: { limit: 600, window_ms: 60_000 },
  page_template_writes: { limit: 60, window_ms: 60_000 },
} as const;
export type BudgetName = keyof typeof budgets;

/** A deployment's clock may be a little slower than ours. */
const margin_ms = 1000;

/** For how long a client has to count a call against a budget. */
export function readSpan(budget: BudgetName): number {
  return budgets[budget].window_ms + margin_ms;
}

/** The maximum page size is not in the spec; pagy's customary 100 clamps silently. */
export const paging = { default_limit: 20, max_limit: 100, max_filters: 50 } as const;

/** The spec names no number; `waypost projects --max-links` sets it for each project. */
export const defaultMaxLinks = 1000;

/** Link fields that ask for the Pro plan when they carry a value (api-spec.md, "Limits"). */
export const proLinkFields = [
  "referrer",
  "ios_deferred_deep_linking_enabled",
  "provider_token",
  "campaign_token",
] as const;

export const limits = {
  body_bytes: 1024 * 1024,
  /** Node's own HTTP server stops at 16 KiB of headers; a direct caller meets the same limit. */
  address_characters: 16 * 1024,
  /** Longer texts and paths would not fit the indexes of every engine that we store them in. */
  name_characters: 500,
  path_bytes: 2000,
  web_address_characters: 8192,
  template_body_bytes: 65_536,
  template_css_bytes: 32_768,
  kept_template_versions: 20,
} as const;
