import type { appSdk, AttributedLink, Attribution } from "../../contract/app-sdk.ts";
import { limits } from "../../contract/limits.ts";
import type { Link } from "../../contract/links.ts";
import { addQuery } from "../../contract/rules/address-query.ts";
import { fillLinkOrigin, writeAddress } from "../../contract/rules/link-address.ts";
import { readPasteMark } from "../../contract/rules/paste-mark.ts";
import { writeForStrictReader } from "../../contract/rules/web-address.ts";
import type { ClientHolder } from "../../store/keys.ts";
import type { CountedVisit } from "../../stats/visit.ts";
import { queueEvents, type NewEvent } from "../../store/webhooks.ts";
import { findAddressedLink, readWithClicks } from "../find-link.ts";
import type { GroupHandlers, Services, WriteCall } from "../handler.ts";
import { matchInstall, matchPasted, type MatchedInstall } from "../match-install.ts";

/** Handles calls from SDKs in apps, which ask for the link that opened or installed the app. */
export const appSdkHandlers: GroupHandlers<typeof appSdk> = {
  attribute: async ({ services, caller, body, spend, signal }) => {
    const { project } = caller;
    const isInstall = body.is_deferred === true;
    if (isInstall) await spend("app_installs");
    // No link has a longer URL, and parsing a longer text takes too long.
    if ((body.url ?? "").length > limits.web_address_characters) return { body: noMatch };
    // Only deferred deep linking needs the Pro plan. Every link can open an installed app.
    if (isInstall && project.plan !== "pro") return { body: noMatch };
    const pasted = readPasteMark(body.url ?? "");
    const found = await findAddressedLink(services, project.id, pasted?.address ?? body.url ?? "");
    if (found === undefined) return { body: noMatch };
    if (pasted !== undefined && project.plan === "pro") {
      const tenant = { db: services.store.db, projectId: project.id };
      const matched = await matchPasted(services, tenant, pasted.visit, signal);
      // If the copied URL was shared or already used, handle it like any other URL.
      if (matched !== undefined) return describeMatch(services, project, matched);
    }
    // Only installs wait for pending clicks, because opens are too frequent.
    const link = isInstall ? await readWithClicks(services, project.id, found.link) : found.link;
    if (link === undefined) return { body: noMatch };
    const platform = body.platform === "ios" ? "ios" : "android";
    const sure = { confidence: "high", match_score: mostScore } as const;
    if (isInstall) {
      // Only the app reports this install, so the event contains the confidence `reported`. The
      // response contains `high`, because SDKs reject unknown words.
      const install = { link, platform, ...sure, confidence: "reported" };
      await queueInstall(services, project.id, install, signal);
    }
    // Counted last, because the app repeats its request after an error.
    countApp(services, {
      projectId: project.id,
      linkId: link.id,
      platform,
      source: isInstall ? "reported" : found.source,
      isInstall,
    });
    const origin = fillLinkOrigin(services.readLinkOrigin(), project);
    return {
      body: { matched: true, ...sure, link: describeLink(link, found.query, origin) },
    };
  },

  match: async ({ services, caller, body, address, signal }) => {
    const { project } = caller;
    if (project.plan !== "pro") return { body: noMatch };
    const tenant = { db: services.store.db, projectId: project.id };
    const install = { fingerprint: body.fingerprint ?? {}, address };
    return describeMatch(services, project, await matchInstall(services, tenant, install, signal));
  },
};

type ClientProject = Pick<ClientHolder, "project">["project"];

function describeMatch(
  services: Services,
  project: ClientProject,
  matched: MatchedInstall | undefined,
) {
  if (matched === undefined) return { body: noMatch };
  const { confidence, score: match_score, query } = matched;
  const counted = { projectId: project.id, linkId: matched.link.id, isInstall: true } as const;
  if (!matched.isAgain) countApp(services, { ...counted, platform: "ios", source: "address" });
  const origin = fillLinkOrigin(services.readLinkOrigin(), project);
  const link = describeLink(matched.link, query, origin);
  return { body: { matched: true as const, confidence, match_score, link } };
}

type AppStart = Pick<CountedVisit, "projectId" | "linkId" | "source" | "platform"> & {
  readonly isInstall: boolean;
};

/**
 * Counts an open or install. These are not clicks, because an installed app opens links without a
 * request to the link host.
 */
function countApp({ noteVisit, clock }: Services, { isInstall, ...app }: AppStart): void {
  noteVisit?.({ ...app, what: isInstall ? "install" : "open", at: clock.now() });
}

/** Queues the event for an install that only the app reports. No stored visit is used up. */
async function queueInstall(
  { store, clock }: Services,
  projectId: string,
  data: NewEvent["data"],
  signal: WriteCall["signal"],
): Promise<void> {
  const events = [{ event: "install.matched", data }] as const;
  await store.write((db) => queueEvents({ db, projectId }, events, clock.now()), { signal });
}

const noMatch: Attribution = { matched: false };
const mostScore = 100;
/** Android reads the count as a 32-bit Int, and rejects a response with a larger number. */
const mostClicks = 2 ** 31 - 1;

function describeLink(link: Link, query: string, origin: string): AttributedLink {
  const path = link.path ?? "";
  return {
    id: link.id,
    path: link.path,
    shortened_path: link.shortened_path,
    url: writeUrl(link.url === null ? null : addQuery(link.url, query)),
    full_url: writeForStrictReader(addQuery(writeAddress(origin, path), query)),
    deep_link_value: `/${path}`,
    ios_deferred_deep_linking_enabled: link.ios_deferred_deep_linking_enabled,
    android_fallback_url: writeUrl(link.android_fallback_url),
    ios_fallback_url: writeUrl(link.ios_fallback_url),
    enable_forced_redirect: link.enable_forced_redirect,
    social_title: link.social_title,
    social_description: link.social_description,
    social_image_url: writeUrl(link.social_image_url),
    clicks: Math.min(link.clicks, mostClicks),
    referrer: link.referrer,
    provider_token: link.provider_token,
    campaign_token: link.campaign_token,
  };
}

function writeUrl(address: string | null): string | null {
  return address === null ? null : writeForStrictReader(address);
}
