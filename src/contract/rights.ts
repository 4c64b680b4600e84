/** The scopes and roles of API keys, and the plans of projects. See docs/reference/access.md. */

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

/** From least to most powerful. Each role includes the previous ones. */
export const roles = ["viewer", "manager", "owner"] as const;
export type Role = (typeof roles)[number];

export const plans = ["free", "pro"] as const;
export type PricingPlan = (typeof plans)[number];

/** Features that the operator can disable for a project. */
export type Feature = "page_templates";

/** The default limit of links on the Free plan. `waypost projects --max-links` changes it. */
export const defaultMaxLinks = 1000;

/** Link fields that require the Pro plan when set. */
export const proLinkFields = [
  "referrer",
  "ios_deferred_deep_linking_enabled",
  "provider_token",
  "campaign_token",
] as const;

/**
 * Whether calls may change anything, and whether a user must approve destructive ones. See
 * docs/approval.md.
 */
export const modes = ["read-only", "guarded", "full"] as const;
export type Mode = (typeof modes)[number];

/** Only an owner's key with all scopes can create keys, so a new key never has more permissions. */
export function canMakeKeys(key: { readonly role: Role; readonly scopes: readonly Scope[] }) {
  return key.role === "owner" && key.scopes.length === 0;
}
