/** The plans of a project, and what needs the Pro plan. */

export const plans = ["free", "pro"] as const;
export type PricingPlan = (typeof plans)[number];

/** Features that the operator can switch off for a project. */
export type Feature = "page_templates";

/** The default limit of links on the Free plan. `waypost projects --max-links` changes it. */
export const defaultMaxLinks = 1000;

/** Link fields that need the Pro plan if they have a value. */
export const proLinkFields = [
  "referrer",
  "ios_deferred_deep_linking_enabled",
  "provider_token",
  "campaign_token",
] as const;
