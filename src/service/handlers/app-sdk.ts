import {
  chooseVisit,
  createSeal,
  sealInstance,
  sealMarks,
  type ChosenVisit,
  type CandidateVisit,
  type SeenPhone,
  type Seal,
} from "../../attribution/compare-phones.ts";
import { readInstance, readFingerprint, type Marks } from "../../attribution/marks.ts";
import type { appSdk, AttributedLink, Attribution, Confidence } from "../../contract/app-sdk.ts";
import type { Waiter } from "../../contract/clock.ts";
import { limits } from "../../contract/limits.ts";
import type { Link } from "../../contract/links.ts";
import { addQuery, keepShared, readPasteMark } from "../../contract/rules/address-query.ts";
import { fillLinkOrigin } from "../../contract/rules/link-address.ts";
import { writeAddress } from "../../contract/rules/link-path.ts";
import { writeForStrictReader } from "../../contract/rules/web-address.ts";
import {
  findClientNetwork,
  findOwnAddress,
  type ClientNetwork,
} from "../../network/client-address.ts";
import type { CountedVisit } from "../../stats/visit.ts";
import {
  findEarlierAnswer,
  findVisits,
  findWaiting,
  takeVisit,
  readSealKey,
} from "../../store/installs.ts";
import type { ClientKeyWithProject } from "../../store/keys.ts";
import { findLink } from "../../store/links.ts";
import type { DeferredVisitTable, Tenant } from "../../store/tables.ts";
import { queueEvents, type NewEvent } from "../../store/webhooks.ts";
import { findAddressedLink, readWithClicks } from "../find-link.ts";
import type { GroupHandlers, Services, WriteCall } from "../handler.ts";

/** Handles calls from app SDKs. An SDK requests the link that opened or installed its app. */
export const appSdkHandlers: GroupHandlers<typeof appSdk> = {
  attribute: async ({ services, caller, body, spend, signal }) => {
    const { project } = caller;
    const isInstall = body.is_deferred === true;
    if (isInstall) await spend("app_installs");
    // No link has a longer URL, and parsing a huge URL would take too long.
    if ((body.url ?? "").length > limits.web_address_characters) return { body: noMatch };
    // Only deferred deep linking needs the Pro plan. Links open installed apps on every plan.
    if (isInstall && project.plan !== "pro") return { body: noMatch };
    const pasted = readPasteMark(body.url ?? "");
    const found = await findAddressedLink(services, project.id, pasted?.address ?? body.url ?? "");
    if (found === undefined) return { body: noMatch };
    if (pasted !== undefined && project.plan === "pro") {
      const tenant = { db: services.store.db, projectId: project.id };
      const matched = await matchPasted(services, tenant, pasted.visit, signal);
      // If the copied URL matches no unused visit, it is handled like any other URL of the link.
      if (matched !== undefined) return describeMatch(services, project, matched);
    }
    // App opens are too frequent to wait for pending clicks.
    const link = isInstall ? await readWithClicks(services, project.id, found.link) : found.link;
    if (link === undefined) return { body: noMatch };
    const platform = body.platform === "ios" ? "ios" : "android";
    const sure = { confidence: "high", match_score: mostScore } as const;
    if (isInstall) {
      // Webhooks report the confidence as `reported`, because only the app reports this install.
      // The response says `high`, because SDKs reject unknown values.
      const install = { link, platform, ...sure, confidence: "reported" };
      await queueInstall(services, project.id, install, signal);
    }
    // Count the open or install last, because the app retries after an error.
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

  match: async ({ services, caller, body, address: sender, headers, signal }) => {
    const { project } = caller;
    if (project.plan !== "pro") return { body: noMatch };
    const tenant = { db: services.store.db, projectId: project.id };
    const address = findOwnAddress(sender, headers);
    const install = { fingerprint: body.fingerprint ?? {}, address };
    return describeMatch(services, project, await matchInstall(services, tenant, install, signal));
  },
};

type ClientProject = Pick<ClientKeyWithProject, "project">["project"];

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

/** Counts an open or install. It is not a click, because the link host received no request. */
function countApp({ noteReported, clock }: Services, { isInstall, ...app }: AppStart): void {
  noteReported?.({ ...app, what: isInstall ? "install" : "open", at: clock.now() });
}

/** Queues the webhook event for an install without a matched visit. */
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
/** Android SDKs read the count as a 32-bit integer and reject larger numbers. */
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

/** The device properties that an app sends at its first start, and the device's IP address. */
type Install = {
  readonly fingerprint: Readonly<Record<string, unknown>>;
  readonly address: string | undefined;
};

type MatchedInstall = MatchResult & {
  readonly link: Link;
  /** True if this install got the same match before. Apps retry if they get no response. */
  readonly isAgain: boolean;
};

type MatchResult = {
  readonly query: string;
  readonly confidence: Confidence;
  readonly score: number;
};

/** A visit that matches an install, with the result of the match. */
type VisitUse = MatchResult & {
  readonly row: DeferredVisitTable;
  readonly usedBy?: string | undefined;
  /** True if the app sent the id of this visit. */
  readonly isNamed: boolean;
};

/** Used to detect a disconnect, after which no visit may be used up. */
type CallSignal = Pick<Waiter, "hasLeft">;

type StoredVisit = CandidateVisit & { readonly row: DeferredVisitTable };

/** Finds the link that led to an install, and uses up the matching visit. */
async function matchInstall(
  services: Services,
  tenant: Tenant,
  { fingerprint, address }: Install,
  signal: CallSignal,
): Promise<MatchedInstall | undefined> {
  const { store, random } = services;
  const seal = createSeal(await readSealKey(store, random), tenant.projectId);
  const marks = readFingerprint(fingerprint);
  const usedBy = sealInstance(readInstance(fingerprint), marks, seal);
  const before = await findEarlierMatch(services, tenant, usedBy);
  const place = findClientNetwork(address);
  if (before !== undefined || place === undefined) return before;
  const seen = { marks: sealMarks(marks, seal), address: sealPlace(place, seal) };
  const find = async () => {
    const chosen = await findChosen(services, tenant, seen);
    const use = chosen && { ...readChosen(chosen), usedBy, isNamed: false };
    const matched = use && (await useVisit(services, tenant, use, signal));
    // A concurrent request of the same install may have used up the visit.
    return matched ?? findEarlierMatch(services, tenant, usedBy);
  };
  return place.isShared ? limitMisses(services.budgets, place.group, find) : find();
}

/** Finds the most likely visit from the install's IP address. */
async function findChosen(
  { clock }: Services,
  tenant: Tenant,
  seen: SeenPhone & { readonly address: ClientNetwork },
): Promise<ChosenVisit<StoredVisit> | undefined> {
  const found = await findVisits(tenant, { address: seen.address.group, now: clock.now() });
  return chooseVisit(seen, found.map(readVisit));
}

/**
 * Limits failed attempts per shared IP address, so that no one can try every device model. The
 * attempt is counted before the lookup, because attempts may be concurrent.
 */
async function limitMisses<Found>(
  { spendByAddress, refund }: Services["budgets"],
  address: string,
  find: () => Promise<Found | undefined>,
): Promise<Found | undefined> {
  await spendByAddress(address, "shared_misses");
  let isMiss = false;
  try {
    const found = await find();
    isMiss = found === undefined;
    return found;
  } finally {
    if (!isMiss) refund(address, "shared_misses");
  }
}

/** Matches an install by the visit id in the URL that the page's button copied to the clipboard. */
async function matchPasted(
  services: Services,
  tenant: Tenant,
  visit: string,
  signal: CallSignal,
): Promise<MatchedInstall | undefined> {
  const row = await findWaiting(tenant, visit, services.clock.now());
  if (row === undefined) return undefined;
  const sure = { confidence: "high", score: mostScore, query: row.query } as const;
  return useVisit(services, tenant, { row, ...sure, isNamed: true }, signal);
}

/** Uses up a visit. If two installs match the visit, only the first install gets it. */
async function useVisit(
  services: Services,
  tenant: Tenant,
  { row, usedBy, isNamed, ...match }: VisitUse,
  signal: CallSignal,
): Promise<MatchedInstall | undefined> {
  const { store, clock } = services;
  const link = await findCounted(services, tenant, row.link_id);
  if (link === undefined) return undefined;
  const { projectId } = tenant;
  const { confidence, score: match_score } = match;
  const now = clock.now();
  const take = async (db: Tenant["db"]) => {
    const use = { now, usedBy, told: JSON.stringify(match), isNamed };
    if (!(await takeVisit({ db, projectId }, row, use))) return false;
    const data = { link, platform: "ios", confidence, match_score };
    await queueEvents({ db, projectId }, [{ event: "install.matched", data }], now);
    return true;
  };
  const isTaken = await store.write(take, { signal });
  return isTaken ? { link, ...match, isAgain: false } : undefined;
}

/** Finds the earlier response to the same install, so that a retry is not counted again. */
async function findEarlierMatch(
  services: Services,
  tenant: Tenant,
  usedBy: string | undefined,
): Promise<MatchedInstall | undefined> {
  if (usedBy === undefined) return undefined;
  const before = await findEarlierAnswer(tenant, usedBy, services.clock.now());
  if (before === undefined) return undefined;
  const link = await findCounted(services, tenant, before.link_id);
  if (link === undefined) return undefined;
  // Only `useVisit` writes this column, so it contains a MatchResult.
  return { link, ...(JSON.parse(before.told) as MatchResult), isAgain: true };
}

/** Finds the link with its current clicks, or undefined if its deferred deep linking is off. */
async function findCounted(
  { waitForClicks }: Services,
  tenant: Tenant,
  linkId: string,
): Promise<Link | undefined> {
  await waitForClicks?.(tenant.projectId, linkId);
  const link = await findLink(tenant, linkId);
  return link?.ios_deferred_deep_linking_enabled === true ? link : undefined;
}

/**
 * Returns the query parameters to send to the app: those that all matching visits of the link have
 * in common. If the IP address is shared, returns none, because query parameters can identify
 * people.
 */
function readChosen({ visit: { row }, others, confidence, score }: ChosenVisit<StoredVisit>) {
  const common = others.reduce((query, other) => keepShared(query, other.row.query), row.query);
  return { row, query: row.is_shared === 1 ? "" : common, confidence, score };
}

function sealPlace(place: ClientNetwork, seal: Seal): ClientNetwork {
  return { ...place, group: seal("address", place.group) };
}

function readVisit(row: DeferredVisitTable): StoredVisit {
  const { link_id, address, is_shared } = row;
  return {
    row,
    linkId: link_id,
    // Only the link host writes this column, so it contains Marks.
    marks: JSON.parse(row.marks) as Marks,
    address: address === null ? undefined : { group: address, isShared: is_shared === 1 },
  };
}
