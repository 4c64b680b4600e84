import * as z from "zod";
import { asRead, type Endpoint } from "./endpoint.ts";

/**
 * The endpoints that the SDKs in mobile apps call:
 * dynalinks/dynalinks-{ios,android,flutter,react-native}-sdk (MIT license). They need a client key,
 * and assistants have no tools for them. The SDKs treat every status except 2xx as a failure, so an
 * unknown link still gets a 200.
 */

/** The SDKs accept only these values. */
const confidences = ["high", "medium", "low"] as const;
export type Confidence = (typeof confidences)[number];

const attributedLink = z.object({
  id: z.string(),
  path: z.string().nullable(),
  shortened_path: z.string().nullable(),
  /** The link's destination, with the visit's query parameters added. */
  url: z.string().nullable(),
  /** The URL of the link itself, with the visit's query parameters added. */
  full_url: z.string(),
  /** The link's path with a leading slash. */
  deep_link_value: z.string(),
  ios_deferred_deep_linking_enabled: z.boolean(),
  android_fallback_url: z.string().nullable(),
  ios_fallback_url: z.string().nullable(),
  enable_forced_redirect: z.boolean(),
  social_title: z.string().nullable(),
  social_description: z.string().nullable(),
  social_image_url: z.string().nullable(),
  clicks: z.int(),
  referrer: z.string().nullable(),
  provider_token: z.string().nullable(),
  campaign_token: z.string().nullable(),
});
export type AttributedLink = z.output<typeof attributedLink>;

const attribution = z.object({
  matched: z.boolean(),
  confidence: z.enum(confidences).optional(),
  match_score: z.int().optional(),
  link: attributedLink.optional(),
});
export type Attribution = z.output<typeof attribution>;

const platform = z.string().nullish();

export const appSdk = {
  attribute: {
    ...asRead,
    method: "POST",
    path: "/links/attribute",
    documented: false,
    hidden: true,
    tool: "attribute_link",
    title: "Find the link that opened an app",
    summary: "The link whose address opened an app or came with the app's install.",
    auth: "client",
    address_budget: "app_openings",
    body: z.object({ url: z.string().nullish(), platform, is_deferred: z.boolean().nullish() }),
    required: ["url"],
    response: attribution,
  },
  match: {
    ...asRead,
    method: "POST",
    path: "/fingerprints/match",
    documented: false,
    hidden: true,
    tool: "match_install",
    title: "Match an install to a link",
    summary: "The link whose page the phone visited before the app was installed.",
    auth: "client",
    address_budget: "app_installs",
    body: z.object({ fingerprint: z.record(z.string(), z.unknown()).nullish(), platform }),
    required: ["fingerprint"],
    response: attribution,
    // A match uses up the visit, so a second call cannot match the same visit.
    effect: "write",
    idempotent: false,
  },
} as const satisfies Record<string, Endpoint>;
