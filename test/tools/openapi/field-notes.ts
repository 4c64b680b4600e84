import { statsBy } from "../../../src/contract/link-stats.ts";
import type { JsonObject } from "../../../src/contract/json.ts";

/** Marks what the API's specification does not have, so that other servers may lack it. */
export const own = { "x-waypost-own": true } as const;

const uuid = { format: "uuid" } as const;
const time = { format: "date-time" } as const;

const linkNotes = {
  id: uuid,
  path: { description: "Path, without the leading slash." },
  shortened_path: { description: "The short path of the same link; null without one." },
  ios_app: {
    description:
      "The iOS app that the link opens: its `id` or its `bundle_id`. With `bundle_id` and " +
      "`team_id`, an unknown app is registered. null removes the app.",
  },
  android_app: {
    description:
      "The Android app that the link opens: its `id` or its `package_name`. With " +
      "`package_name` and `fingerprints`, an unknown app is registered. null removes the app.",
  },
  ios_app_id: { ...uuid, description: "The iOS app that the link opens." },
  android_app_id: { ...uuid, description: "The Android app that the link opens." },
  clicks: { description: "How often visitors have opened the link." },
  created_at: {
    type: "string",
    ...time,
    description: "Only in lists that are filtered or sorted by this field.",
  },
  created_via: {
    type: "string",
    enum: ["api", "console"],
    description: "Only in lists that are filtered or sorted by this field.",
  },
} as const;

const { id, shortened_path, ios_app_id, android_app_id, clicks, path } = linkNotes;
const linkResponse = { id, path, shortened_path, ios_app_id, android_app_id, clicks };

const version = {
  id: uuid,
  published_at: time,
  published_by: { ...own, description: "The role of the key that published it." },
  live: { description: "Whether links show this version now." },
} as const;

const appNotes = {
  id: uuid,
  custom_scheme: { description: "Custom URL scheme. A trailing `://` is removed." },
} as const;

/** What the document says about fields beyond the contract. */
export const fieldNotes: Readonly<Record<string, Readonly<Record<string, JsonObject>>>> = {
  Link: {
    ...linkResponse,
    created_at: linkNotes.created_at,
    created_via: linkNotes.created_via,
  },
  ResolvedLink: {
    ...linkResponse,
    query: { ...own, description: "The query of the shortened address." },
  },
  LinkFields: {
    ios_app: linkNotes.ios_app,
    android_app: linkNotes.android_app,
    ios_app_id: {
      type: ["string", "null"],
      description: "The same as `id` in `ios_app`.",
      ...own,
    },
    android_app_id: {
      type: ["string", "null"],
      description: "The same as `id` in `android_app`.",
      ...own,
    },
  },
  IosApp: appNotes,
  IosAppFields: {
    team_id: { description: "Team ID of exactly 10 characters." },
    app_store_id: { description: "App Store ID. Characters that are not digits are removed." },
    clip_bundle_id: { description: "Bundle ID of the App Clip. A leading Team ID is removed." },
  },
  AndroidApp: appNotes,
  AndroidAppFields: {
    fingerprints: {
      description:
        "Colon-separated pairs of hexadecimal characters, 32 pairs for SHA-256. Stored in " +
        "upper case. An update replaces the whole list.",
    },
  },
  Project: {
    id: uuid,
    custom_domain_verified: { description: "Whether `custom_domain` serves the links." },
    links_count: { description: "How many links the project has." },
  },
  PageTemplate: {
    id: uuid,
    unpublished_changes: { description: "Whether the draft differs from the live version." },
    live_version: { description: "The version that links show; null when none is published." },
    created_at: time,
    updated_at: time,
  },
  TemplateVersion: version,
  TemplateVersionSummary: version,
  PageTemplatePreview: {
    link_id: { ...uuid, description: "The link to show. Without it, a sample link is shown." },
    link_fields: own,
  },
  Meta: {
    page: { description: "The number of this page." },
    limit: { description: "Rows per page." },
    count: { description: "Rows on all pages." },
    last: { description: "The number of the last page." },
    from: { description: "The position of the first row; 0 on an empty page." },
    to: { description: "The position of the last row; 0 on an empty page." },
    previous: { description: "Left out on the first page." },
    next: { description: "Left out on the last page." },
    applied: {
      ...own,
      type: "array",
      items: { type: "string" },
      description: "The filters in `f` that were applied. Left out when no filter was applied.",
    },
  },
  LinkStatistics: { stats: { description: "Clicks, opens and installs, in total and by row." } },
  BrowserPaths: {
    browser_paths: {
      description: "Paths of links without an app, and whether the list is complete.",
    },
  },
  OpenedAddress: {
    url: { description: "The address that opened the app, or that came with its install." },
    platform: { description: "`ios` or `android`." },
    is_deferred: { description: "Whether this is the first start after the install." },
  },
  Install: {
    fingerprint: { description: "What the SDK knows about the device." },
    platform: { description: "`ios` or `android`." },
  },
  Attribution: {
    matched: { description: "Whether a link was found." },
    confidence: { description: "How certain the match is." },
    match_score: { description: "From 0 to 100." },
    link: { description: "The link. Left out without a match." },
  },
};

export const statsNotes: Readonly<Record<string, JsonObject>> = {
  id: { ...uuid, description: "Only this link." },
  from: {
    description: "The first day, such as 2026-11-16, or a time. The default period is seven days.",
  },
  to: { description: "The last day (inclusive), or a time. Today by default." },
  by: { enum: statsBy, description: "What each row is for: a day, a link, a platform and so on." },
  compare: { description: "true also returns the counts for the previous period." },
  time_zone: {
    description: "The time zone in which days begin, such as Europe/Berlin. UTC by default.",
  },
  rows: { pattern: "^[0-9]+$", description: "Maximum number of rows to return, from 1 to 100." },
};
