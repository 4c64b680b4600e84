import { chooseVisit, type ChosenVisit, type CandidateVisit } from "../attribution/choose-visit.ts";
import type { SeenPhone } from "../attribution/compare-phones.ts";
import type { Marks } from "../attribution/marks.ts";
import { readInstance, readFingerprint } from "../attribution/read-fingerprint.ts";
import { createSeal, sealInstance, sealMarks, type Seal } from "../attribution/seal-marks.ts";
import type { Confidence } from "../contract/app-sdk.ts";
import type { Waiter } from "../contract/clock.ts";
import { keepShared } from "../contract/rules/address-query.ts";
import type { Link } from "../contract/links.ts";
import { findClientPlace, type ClientPlace } from "../network/shared-address.ts";
import {
  findEarlierAnswer,
  findVisits,
  findWaiting,
  takeVisit,
  readSealKey,
} from "../store/installs.ts";
import { queueEvents } from "../store/webhooks.ts";
import { findLink } from "../store/links.ts";
import type { DeferredVisitTable, Tenant } from "../store/tables.ts";
import type { Services } from "./handler.ts";

/** The phone properties that an app reports at its first start, and the app's IP address. */
type Install = {
  readonly fingerprint: Readonly<Record<string, unknown>>;
  readonly address: string | undefined;
};

export type MatchedInstall = MatchResult & {
  readonly link: Link;
  /** True if this install already got this response, which may have been lost. */
  readonly isAgain: boolean;
};

/** The result for the app, in addition to the link. */
type MatchResult = {
  readonly query: string;
  readonly confidence: Confidence;
  readonly score: number;
};

/** The visit that an install matches. */
type VisitUse = MatchResult & {
  readonly row: DeferredVisitTable;
  readonly usedBy?: string | undefined;
  /** True if the app named this exact visit. */
  readonly isNamed: boolean;
};

/** Shows whether the caller still waits. Otherwise its match must not use up a visit. */
type CallSignal = Pick<Waiter, "hasLeft">;

type StoredVisit = CandidateVisit & { readonly row: DeferredVisitTable };

/** Finds the link that an app was installed for, and uses up its visit. */
export async function matchInstall(
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
  const place = findClientPlace(address);
  if (before !== undefined || place === undefined) return before;
  const seen = { marks: sealMarks(marks, seal), address: sealPlace(place, seal) };
  const find = async () => {
    const chosen = await findChosen(services, tenant, seen);
    const use = chosen && { ...readChosen(chosen), usedBy, isNamed: false };
    const matched = use && (await useVisit(services, tenant, use, signal));
    // The first request of this install may have matched, and its response may have been lost.
    return matched ?? findEarlierMatch(services, tenant, usedBy);
  };
  return place.isShared ? limitMisses(services.budgets, place.group, find) : find();
}

/** Finds the most likely visit among those from the install's own IP address. */
async function findChosen(
  { clock }: Services,
  tenant: Tenant,
  seen: SeenPhone & { readonly address: ClientPlace },
): Promise<ChosenVisit<StoredVisit> | undefined> {
  const found = await findVisits(tenant, { address: seen.address.group, now: clock.now() });
  return chooseVisit(seen, found.map(readVisit));
}

/**
 * Limits failed attempts behind a shared IP address. Otherwise another user of that IP address
 * could try one phone model after another. The attempt is counted before the lookup, so that
 * concurrent attempts cannot exceed the limit.
 */
async function limitMisses<Found>(
  { spendByAddress, giveBack }: Services["budgets"],
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
    if (!isMiss) giveBack(address, "shared_misses");
  }
}

/** Matches by the URL that the page's button copied, which contains the visit's id. */
export async function matchPasted(
  services: Services,
  tenant: Tenant,
  visit: string,
  signal: CallSignal,
): Promise<MatchedInstall | undefined> {
  const row = await findWaiting(tenant, visit, services.clock.now());
  if (row === undefined) return undefined;
  const sure = { confidence: "high", score: 100, query: row.query } as const;
  return useVisit(services, tenant, { row, ...sure, isNamed: true }, signal);
}

/** Uses up a visit. If two installs match the same visit, only the first one gets it. */
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

/**
 * Finds the earlier response to the same install. A repeated request counts as no further install.
 */
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
  // We wrote this column as JSON of a match.
  return { link, ...(JSON.parse(before.told) as MatchResult), isAgain: true };
}

/** Finds the link with its current clicks, if the link allows deferred deep linking. */
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
 * Chooses the query parameters for the app. If several visits of the same link fit, returns only
 * the parameters that all of them have. Queries can identify people, so a visitor with a shared IP
 * address gets none.
 */
function readChosen({ visit: { row }, others, confidence, score }: ChosenVisit<StoredVisit>) {
  const common = others.reduce((query, other) => keepShared(query, other.row.query), row.query);
  return { row, query: row.is_shared === 1 ? "" : common, confidence, score };
}

function sealPlace(place: ClientPlace, seal: Seal): ClientPlace {
  return { ...place, group: seal("address", place.group) };
}

function readVisit(row: DeferredVisitTable): StoredVisit {
  const { link_id, address, is_shared } = row;
  return {
    row,
    linkId: link_id,
    // The link host wrote this column as JSON of hashes.
    marks: JSON.parse(row.marks) as Marks,
    address: address === null ? undefined : { group: address, isShared: is_shared === 1 },
  };
}
