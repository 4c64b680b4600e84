import * as z from "zod";
import {
  asCreate,
  asDestroy,
  asRead,
  asRestore,
  asUpdate,
  type Endpoint,
  type ReceivedData,
} from "./endpoint.ts";
import { byId, flag, meta, storedId, storedText, text } from "./fields.ts";
import { linkFilters, ownLinkFilters } from "./filters.ts";

/** The endpoints of links and short links. */

const link = z.looseObject({
  id: storedId,
  name: storedText,
  path: storedText,
  url: storedText,
  social_description: storedText,
  social_image_url: storedText,
  social_title: storedText,
  shortened_path: storedText,
  android_fallback_url: storedText,
  ios_fallback_url: storedText,
  referrer: storedText,
  provider_token: storedText,
  campaign_token: storedText,
  android_app_id: storedText,
  ios_app_id: storedText,
  enable_forced_redirect: z.boolean(),
  ios_deferred_deep_linking_enabled: z.boolean(),
  clicks: z.int(),
});
export type Link = z.output<typeof link>;
/** A link as any server may return it. */
export type ReadLink = ReceivedData<Link>;

export const linkFields = z.object({
  name: text("Internal display name."),
  path: text("Path without leading slash, ? or #. Generated if omitted."),
  url: text("Where desktop visitors go; http or https."),
  social_title: text("Title that visitors see."),
  social_description: text("Description for social media."),
  social_image_url: text("Image for social media; http or https."),
  ios_fallback_url: text("Where iOS visitors without the app go; http, https or itms-apps."),
  android_fallback_url: text("Where Android visitors without the app go; http, https or market."),
  enable_forced_redirect: flag("Skip the preview page and redirect at once."),
  referrer: text("Deferred link parameter for Android. Needs the Pro plan."),
  ios_deferred_deep_linking_enabled: flag("Deferred deep linking on iOS. Needs the Pro plan."),
  provider_token: text("App Store provider token; needs campaign_token and the Pro plan."),
  campaign_token: text("App Store campaign token; needs provider_token."),
  ios_app: z
    .object({
      id: z.string().nullish(),
      bundle_id: z.string().nullish(),
      team_id: z.string().nullish(),
      app_store_id: z.string().nullish(),
    })
    .nullish()
    .describe("id: a registered app's name or bundle ID. New: bundle_id, team_id; ask the user."),
  android_app: z
    .object({
      id: z.string().nullish(),
      package_name: z.string().nullish(),
      fingerprints: z.array(z.string()).nullish(),
    })
    .nullish()
    .describe(
      "id: a registered app's name or package. New: package_name, fingerprints; ask the user.",
    ),
  options: z
    .object({ shorten: z.boolean().nullish() })
    .nullish()
    .describe("shorten: generate a short path on creation. Needs the Pro plan."),
});
export type LinkFields = z.output<typeof linkFields>;

const writes = {
  auth: "project",
  role: "manager",
  budget: "link_writes",
  body: linkFields,
  optional_wrapper: "link",
  response: link,
} as const;

export const links = {
  index: {
    ...asRead,
    path: "/links",
    tool: "list_links",
    title: "List links",
    summary: "List the project's links, filtered, sorted and paged.",
    auth: "project",
    scope: "links.index",
    list: { name: "links", filters: linkFilters, own: ownLinkFilters },
    response: z.looseObject({ links: z.array(link), meta }),
  },
  create: {
    ...asCreate,
    ...writes,
    path: "/links",
    tool: "create_link",
    title: "Create a link",
    summary: "Create a link.",
    scope: "links.create",
  },
  upsert: {
    ...asUpdate,
    ...writes,
    method: "POST",
    path: "/links/upsert",
    tool: "upsert_link",
    title: "Create or update a link by path",
    summary: "Create the link, or update the one with the same path.",
    // The API's specification names no scope for upserts. Overwriting also needs `links.update`, so
    // a key that may only create links cannot overwrite any.
    scope: "links.create",
    overwrite_scope: "links.update",
    required: ["path"],
    success: { status: 200, also: 201 },
  },
  show: {
    ...asRead,
    path: "/links/:id",
    tool: "get_link",
    title: "Get a link",
    summary: "Read one link.",
    auth: "project",
    scope: "links.show",
    params: byId,
    response: link,
  },
  update: {
    ...asUpdate,
    ...writes,
    path: "/links/:id",
    tool: "update_link",
    title: "Update a link",
    summary: "Change the given fields of a link.",
    scope: "links.update",
    params: byId,
  },
  destroy: {
    ...asDestroy,
    path: "/links/:id",
    tool: "delete_link",
    title: "Delete a link",
    summary: "Delete a link; its address stops working at once.",
    auth: "project",
    role: "manager",
    scope: "links.destroy",
    params: byId,
  },
  restore: {
    ...asRestore,
    path: "/links/:id/restore",
    tool: "restore_link",
    title: "Restore a link",
    summary: "Restore a deleted link with its id, clicks and addresses.",
    auth: "project",
    role: "manager",
    scope: "links.create",
    budget: "link_writes",
    params: byId,
    response: link,
  },
} as const satisfies Record<string, Endpoint>;

export const shortLinks = {
  create: {
    ...asCreate,
    path: "/short_links",
    tool: "shorten_link",
    title: "Shorten an address",
    summary: "Create a short path for a link's address or any web address.",
    auth: "project",
    role: "manager",
    scope: "short_links.create",
    plan: "pro",
    budget: "url_shortening",
    body: z.object({
      url: text("Address to shorten; http or https."),
      prefix: text("Start of the short path."),
    }),
    optional_wrapper: "short_link",
    required: ["url"],
    validation_key: "errors",
    response: link,
  },
  resolve: {
    ...asRead,
    method: "POST",
    path: "/short_links/resolve",
    tool: "resolve_short_link",
    title: "Resolve a shortened address",
    summary: "Find the link at a short or full address. Needs no key.",
    auth: "none",
    // Web pages of any origin may call the endpoint, because it needs no key.
    cross_origin: true,
    body: z.object({ url: text("Short or full address.") }),
    optional_wrapper: "short_link",
    required: ["url"],
    may_miss: true,
    // The query of the shortened URL, if it had one.
    response: link.extend({ query: z.string().optional() }),
  },
} as const satisfies Record<string, Endpoint>;
