import { chooseVisit, type Visit } from "../attribution/choose-visit.ts";
import { learnCrowd, measureCrowd } from "../attribution/crowding.ts";
import type { Marks } from "../attribution/marks.ts";
import { readFingerprint } from "../attribution/read-fingerprint.ts";
import { createSeal, sealLook, sealMarks, type Seal } from "../attribution/seal-marks.ts";
import type { Confidence } from "../contract/app-sdk.ts";
import type { Waiter } from "../contract/clock.ts";
import { limits } from "../contract/limits.ts";
import type { Link } from "../contract/links.ts";
import { findPlace } from "../network/shared-address.ts";
import { findCrowd, keepCrowd } from "../store/crowds.ts";
import {
  findVisits,
  findWaiting,
  mostRecent,
  takeVisit,
  type FoundVisits,
} from "../store/deferred-visits.ts";
import { tellOfInstall } from "../store/install-events.ts";
import { findLink } from "../store/links.ts";
import { readSealKey } from "../store/store-secrets.ts";
import type { DeferredVisitTable } from "../store/deferred-visit-table.ts";
import type { Tenant } from "../store/tenant.ts";
import type { Services } from "./handler.ts";

/** What an app tells of its phone at its first start, and where it asks from. */
type Install = {
  readonly fingerprint: Readonly<Record<string, unknown>>;
  readonly address: string | undefined;
};

export type Matched = {
  readonly link: Link;
  readonly query: string;
  readonly confidence: Confidence;
  readonly score: number;
};

/** How surely a visit is the install's, and whether the app has named that very one. */
type Found = Pick<Matched, "confidence" | "score"> & { readonly isNamed: boolean };

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
  const { store, clock, random } = services;
  const seal = createSeal(await readSealKey(store, random), tenant.projectId);
  const told = readFingerprint(fingerprint);
  const place = sealPlace(findPlace(address), seal);
  const now = clock.now();
  const asked = { address: place?.group, look: sealLook(told, seal), now };
  const [found, known] = await Promise.all([findVisits(tenant, asked), findCrowd(tenant)]);
  const { alike, recent } = readVisits(found);
  const seen = { marks: sealMarks(told, seal), address: place };
  const shown = measureCrowd(recent, readPart(recent, now));
  const crowd = learnCrowd(known, shown, { now, window_ms: limits.deferred_visit_ms });
  if (crowd !== known) await keepCrowd(store, tenant.projectId, crowd, known);
  const chosen = chooseVisit(seen, alike, { recent, crowd });
  if (chosen === undefined) return undefined;
  const { confidence, score } = chosen;
  const how = { confidence, score, isNamed: false, signal };
  return useVisit(services, tenant, chosen.visit.row, how);
}

/** The same by the address that the page's button has copied, which names the visit. */
export async function matchPasted(
  services: Services,
  tenant: Tenant,
  visit: string,
  signal: Signal,
): Promise<Matched | undefined> {
  const row = await findWaiting(tenant, visit, services.clock.now());
  const sure = { confidence: "high", score: 100, isNamed: true } as const;
  return row && useVisit(services, tenant, row, { ...sure, signal });
}

/** Whoever is second has none: two installs that want one visit are not told apart. */
async function useVisit(
  { store, clock, waitForClicks }: Services,
  tenant: Tenant,
  row: DeferredVisitTable,
  { confidence, score, isNamed, signal }: Found & { readonly signal: Signal },
): Promise<Matched | undefined> {
  await waitForClicks?.(tenant.projectId, row.link_id);
  const link = await findLink(tenant, row.link_id);
  if (link?.ios_deferred_deep_linking_enabled !== true) return undefined;
  const { projectId } = tenant;
  const now = clock.now();
  const take = async (db: Tenant["db"]) => {
    if (!(await takeVisit({ db, projectId }, row, { now, isNamed }))) return false;
    const install = { link, platform: "ios", confidence, match_score: score } as const;
    await tellOfInstall({ db, projectId }, install, now);
    return true;
  };
  const isTaken = await store.write(take, { signal });
  if (!isTaken) return undefined;
  return { link, query: row.query, confidence, score };
}

/** How much of the time for which a visit waits the latest of them are of. */
function readPart(recent: readonly StoredVisit[], now: number): number {
  const oldest = recent.at(-1);
  if (recent.length < mostRecent || oldest === undefined) return 1;
  const waited_ms = now - (oldest.row.ends_at - limits.deferred_visit_ms);
  return Math.min(1, Math.max(1000, waited_ms) / limits.deferred_visit_ms);
}

function sealPlace(place: ReturnType<typeof findPlace>, seal: Seal): ReturnType<typeof findPlace> {
  return place && { ...place, group: seal("address", place.group) };
}

/** A visit in both lists is one and the same, and is not taken for another phone's. */
function readVisits({ alike, recent }: FoundVisits) {
  const read = new Map([...alike, ...recent].map((row) => [row.id, readVisit(row)]));
  const list = (rows: readonly DeferredVisitTable[]) =>
    rows.flatMap(({ id }) => read.get(id) ?? []);
  return { alike: list(alike), recent: list(recent) };
}

function readVisit(row: DeferredVisitTable): StoredVisit {
  const { link_id, query, address, family } = row;
  return {
    row,
    leadsTo: JSON.stringify([link_id, query]),
    // The link host wrote this column, as the JSON of hashes.
    marks: JSON.parse(row.marks) as Marks,
    address: address === null || family === null ? undefined : { group: address, family },
  };
}
