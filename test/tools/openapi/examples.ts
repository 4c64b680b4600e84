import type {
  AndroidApp,
  AndroidAppFields,
  IosApp,
  IosAppFields,
} from "../../../src/contract/apps.ts";
import type { Attribution } from "../../../src/contract/app-sdk.ts";
import type { Meta } from "../../../src/contract/fields.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import type { LinkStats } from "../../../src/contract/link-stats.ts";
import type { Link, LinkFields } from "../../../src/contract/links.ts";
import type { PageTemplate, WholeTemplateVersion } from "../../../src/contract/page-template.ts";
import type { Project, ProjectFields } from "../../../src/contract/projects.ts";
import type { SchemaName } from "./schemas.ts";

/** A body for each request and response of the document. */

const link: Link = {
  id: "019bc1a2-3d4e-7f00-8a1b-2c3d4e5f6071",
  name: "Spring sale",
  path: "spring",
  url: "https://example.com/spring",
  social_title: "Spring sale",
  social_description: "Everything for the garden.",
  social_image_url: "https://example.com/spring.jpg",
  shortened_path: "k3v9x2ab",
  ios_fallback_url: null,
  android_fallback_url: null,
  referrer: null,
  provider_token: null,
  campaign_token: null,
  ios_app_id: "019bc1a2-3d4e-7f00-8a1b-2c3d4e5f6072",
  android_app_id: null,
  enable_forced_redirect: false,
  ios_deferred_deep_linking_enabled: false,
  clicks: 1280,
};

const iosApp: IosApp = {
  id: "019bc1a2-3d4e-7f00-8a1b-2c3d4e5f6072",
  name: "Shop",
  bundle_id: "com.example.shop",
  team_id: "AB12CD34EF",
  app_store_id: "1234567890",
  clip_bundle_id: null,
  custom_scheme: "shop",
};

const fingerprint = Array.from({ length: 32 }, () => "AB").join(":");

const androidApp: AndroidApp = {
  id: "019bc1a2-3d4e-7f00-8a1b-2c3d4e5f6073",
  name: "Shop",
  package_name: "com.example.shop",
  fingerprints: [fingerprint],
  custom_scheme: null,
};

const project: Project = {
  id: "019bc1a2-3d4e-7f00-8a1b-2c3d4e5f6074",
  name: "Shop",
  subdomain: "shop",
  custom_domain: null,
  custom_domain_verified: false,
  links_count: 42,
};

const summary = {
  id: "019bc1a2-3d4e-7f00-8a1b-2c3d4e5f6075",
  published_at: "2026-11-16T09:00:00.000Z",
  live: true,
} as const;

const text = {
  body: "<h1>{{ title }}</h1>{% store_buttons %}",
  css: "h1 { color: #234; }",
} as const;

const version: WholeTemplateVersion = { ...summary, ...text };

const template: PageTemplate = {
  id: "019bc1a2-3d4e-7f00-8a1b-2c3d4e5f6076",
  ...text,
  unpublished_changes: false,
  live_version: version,
  created_at: "2026-11-16T08:00:00.000Z",
  updated_at: "2026-11-16T09:00:00.000Z",
};

const meta: Meta = { page: 1, limit: 20, count: 1, last: 1, from: 1, to: 1 };

const stats: LinkStats = {
  from: "2026-11-15",
  to: "2026-11-16",
  by: "day",
  time_zone: "UTC",
  total: { clicks: 30, opens: 4, installs: 1 },
  rows: [
    { key: "2026-11-15", clicks: 10, opens: 1, installs: 0 },
    { key: "2026-11-16", clicks: 20, opens: 3, installs: 1 },
  ],
  sentence: "All links had 30 clicks from 2026-11-15 to 2026-11-16.",
};

const attribution: Attribution = {
  matched: true,
  confidence: "high",
  match_score: 100,
  link: {
    id: link.id,
    path: link.path,
    shortened_path: link.shortened_path,
    url: link.url,
    full_url: "https://shop.links.example/spring",
    deep_link_value: "/spring",
    ios_deferred_deep_linking_enabled: false,
    android_fallback_url: null,
    ios_fallback_url: null,
    enable_forced_redirect: false,
    social_title: link.social_title,
    social_description: link.social_description,
    social_image_url: link.social_image_url,
    clicks: link.clicks,
    referrer: null,
    provider_token: null,
    campaign_token: null,
  },
};

export const responseExamples: Partial<Readonly<Record<SchemaName, JsonObject>>> = {
  Link: link,
  ResolvedLink: link,
  LinkList: { links: [link], meta },
  IosApp: iosApp,
  IosAppList: { ios_apps: [iosApp], meta },
  AndroidApp: androidApp,
  AndroidAppList: { android_apps: [androidApp], meta },
  Project: project,
  ProjectList: { projects: [project], meta },
  PageTemplate: template,
  TemplateVersion: version,
  TemplateVersionList: { versions: [summary] },
  LinkStatistics: { stats },
  BrowserPaths: { browser_paths: { paths: ["blog"], are_all: true } },
  Attribution: attribution,
  ApiDescription: { openapi: "3.1.0" },
};

const newLink: LinkFields = {
  name: "Spring sale",
  path: "spring",
  url: "https://example.com/spring",
};
const newIosApp: IosAppFields = { bundle_id: "com.example.shop", team_id: "AB12CD34EF" };
const newAndroidApp: AndroidAppFields = {
  package_name: "com.example.shop",
  fingerprints: [fingerprint],
};
const newProject: ProjectFields = { name: "Shop", subdomain: "shop" };
const address = { url: "https://shop.links.example/spring" } as const;

export const requestExamples: Readonly<Record<string, JsonObject>> = {
  create_link: { ...newLink, ios_app: { bundle_id: "com.example.shop" } },
  upsert_link: newLink,
  update_link: { name: "Summer sale" },
  shorten_link: address,
  resolve_short_link: { url: "https://shop.links.example/k3v9x2ab" },
  register_ios_app: { ios_app: newIosApp },
  update_ios_app: { ios_app: { name: "Shop" } },
  register_android_app: { android_app: newAndroidApp },
  update_android_app: { android_app: { name: "Shop" } },
  create_project: { project: newProject },
  update_project: { project: { custom_domain: "go.example.com" } },
  save_template: text,
  publish_template: {},
  preview_template: { link_id: link.id },
  attribute_link: { ...address, platform: "ios", is_deferred: false },
  match_install: { fingerprint: { user_agent: "Shop/1.0" }, platform: "ios" },
};
