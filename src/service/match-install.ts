import { chooseVisit, type Chosen, type Visit } from "../attribution/choose-visit.ts";
import type { Seen } from "../attribution/compare-phones.ts";
import type { Marks } from "../attribution/marks.ts";
import { readAsker, readFingerprint } from "../attribution/read-fingerprint.ts";
import { createSeal, sealAsker, sealMarks, type Seal } from "../attribution/seal-marks.ts";
import type { Confidence } from "../contract/app-sdk.ts";
import type { Waiter } from "../contract/clock.ts";
import { keepShared } from "../contract/rules/address-query.ts";
import type { Link } from "../contract/links.ts";
import { findPlace, type Place } from "../network/shared-address.ts";
import { findTold, findVisits, findWaiting, takeVisit, readSealKey } from "../store/installs.ts";
import { queueEvents } from "../store/webhooks.ts";
import { findLink } from "../store/links.ts";
import type { DeferredVisitTable, Tenant } from "../store/tables.ts";
import type { Services } from "./handler.ts";

/** What an app tells of its phone at its first start, and where it asks from. */
type Install = {
  readonly fingerprint: Readonly<Record<string, unknown>>;
  readonly address: string | undefined;
};

export type Matched = Told & {
  readonly link: Link;
  /** Whether that install was told so before, and its answer may have been lost. */
  readonly isAgain: boolean;
};

/** What an install is told beside the link. */
type Told = {
  readonly query: string;
  readonly confidence: Confidence;
  readonly score: number;
};

/** The visit that an install is told of, by what it is known again, if it is. */
type Use = Told & {
  readonly row: DeferredVisitTable;
  readonly usedBy?: string | undefined;
  /** Whether the app has named that very visit. */
  readonly isNamed: boolean;
};

/** Who waits for the answer: once nobody does, no visit is used up. */
type Signal = Pick<Waiter, "hasLeft">;

type StoredVisit = Visit & { readonly row: DeferredVisitTable };

/** The link that an app was installed for, and its visit is used by that; undefined for none. */
export async function matchInstall(
  services: Services,
  tenant: Tenant,
  { fingerprint, address }: Install,
  signal: Signal,
): Promise<Matched | undefined> {
  const { store, random } = services;
  const seal = createSeal(await readSealKey(store, random), tenant.projectId);
  const told = readFingerprint(fingerprint);
  const usedBy = sealAsker(readAsker(fingerprint), told, seal);
  const before = await tellAgain(services, tenant, usedBy);
  const place = findPlace(address);
  if (before !== undefined || place === undefined) return before;
  const seen = { marks: sealMarks(told, seal), address: sealPlace(place, seal) };
  const find = async () => {
    const chosen = await findChosen(services, tenant, seen);
    const use = chosen && { ...readChosen(chosen), usedBy, isNamed: false };
    const matched = use && (await useVisit(services, tenant, use, signal));
    // The install's first request may have been answered, and the answer lost on the way.
    return matched ?? tellAgain(services, tenant, usedBy);
  };
  return place.isShared ? limitMisses(services.budgets, place.group, find) : find();
}

/** The visit that the install most likely follows, among those from its own address. */
async function findChosen(
  { clock }: Services,
  tenant: Tenant,
  seen: Seen & { readonly address: Place },
): Promise<Chosen<StoredVisit> | undefined> {
  const found = await findVisits(tenant, { address: seen.address.group, now: clock.now() });
  return chooseVisit(seen, found.map(readVisit));
}

/**
 * A stranger behind the same carrier could try one model of phone after another. The guess is
 * counted before it is looked up, so that guesses sent at once do not exceed the limit together.
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

/** The same by the address that the page's button has copied, which names the visit. */
export async function matchPasted(
  services: Services,
  tenant: Tenant,
  visit: string,
  signal: Signal,
): Promise<Matched | undefined> {
  const row = await findWaiting(tenant, visit, services.clock.now());
  if (row === undefined) return undefined;
  const sure = { confidence: "high", score: 100, query: row.query } as const;
  return useVisit(services, tenant, { row, ...sure, isNamed: true }, signal);
}

/** The first of two installs that match one visit gets it; the second gets none. */
async function useVisit(
  services: Services,
  tenant: Tenant,
  { row, usedBy, isNamed, ...told }: Use,
  signal: Signal,
): Promise<Matched | undefined> {
  const { store, clock } = services;
  const link = await findCounted(services, tenant, row.link_id);
  if (link === undefined) return undefined;
  const { projectId } = tenant;
  const { confidence, score: match_score } = told;
  const now = clock.now();
  const take = async (db: Tenant["db"]) => {
    const use = { now, usedBy, told: JSON.stringify(told), isNamed };
    if (!(await takeVisit({ db, projectId }, row, use))) return false;
    const data = { link, platform: "ios", confidence, match_score };
    await queueEvents({ db, projectId }, [{ event: "install.matched", data }], now);
    return true;
  };
  const isTaken = await store.write(take, { signal });
  return isTaken ? { link, ...told, isAgain: false } : undefined;
}

/** What this install was told within the time of the visit; it is no second install. */
async function tellAgain(
  services: Services,
  tenant: Tenant,
  usedBy: string | undefined,
): Promise<Matched | undefined> {
  if (usedBy === undefined) return undefined;
  const before = await findTold(tenant, usedBy, services.clock.now());
  if (before === undefined) return undefined;
  const link = await findCounted(services, tenant, before.link_id);
  if (link === undefined) return undefined;
  // We wrote this column, as the JSON of what was told.
  return { link, ...(JSON.parse(before.told) as Told), isAgain: true };
}

/** A link that installs are told of, with its clicks up to now. */
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
 * When several visits lead to the same place and each could be the one, the answer has the query
 * that they share.
 * Queries name people, so a visitor who shares an address with strangers gets none.
 */
function readChosen({ visit: { row }, others, confidence, score }: Chosen<StoredVisit>) {
  const common = others.reduce((query, other) => keepShared(query, other.row.query), row.query);
  return { row, query: row.is_shared === 1 ? "" : common, confidence, score };
}

function sealPlace(place: Place, seal: Seal): Place {
  return { ...place, group: seal("address", place.group) };
}

function readVisit(row: DeferredVisitTable): StoredVisit {
  const { link_id, address, is_shared } = row;
  return {
    row,
    leadsTo: link_id,
    // The link host wrote this column, as the JSON of hashes.
    marks: JSON.parse(row.marks) as Marks,
    address: address === null ? undefined : { group: address, isShared: is_shared === 1 },
  };
}
