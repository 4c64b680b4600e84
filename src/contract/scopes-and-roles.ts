/** The scopes and roles of API keys. See docs/reference/access.md. */

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

/** From the least to the most powerful. A role includes the ones before it. */
export const roles = ["viewer", "manager", "owner"] as const;
export type Role = (typeof roles)[number];
