/** The plans of a project, and what asks for which (api-spec.md, "Limits"). */

export const plans = ["free", "pro"] as const;
export type PricingPlan = (typeof plans)[number];

/** What the operator can switch off for a project. */
export type Feature = "page_templates";

/** The spec names no number; `waypost projects --max-links` sets it for each project. */
export const defaultMaxLinks = 1000;

/** Link fields that ask for the Pro plan when they carry a value. */
export const proLinkFields = [
  "referrer",
  "ios_deferred_deep_linking_enabled",
  "provider_token",
  "campaign_token",
] as const;
