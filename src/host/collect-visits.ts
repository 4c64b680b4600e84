import type { IncomingMessage } from "node:http";
import { joinMarks, type Marks } from "../attribution/marks.ts";
import { readFingerprint } from "../attribution/read-fingerprint.ts";
import { readRequest } from "../attribution/read-request.ts";
import { createSeal, sealAll, sealMarks, type Seal } from "../attribution/seal-marks.ts";
import type { Clock, Random, SetAlarm } from "../contract/clock.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { limits } from "../contract/limits.ts";
import { cutQuery } from "../contract/rules/address-query.ts";
import { findClientAddress, findToldAddress } from "../network/client-address.ts";
import { readAtMost } from "../network/read-at-most.ts";
import { findPlace } from "../network/shared-address.ts";
import { createTrust, type TrustedProxies } from "../network/trusted-proxies.ts";
import { findLatestEnd, readSealKey } from "../store/installs.ts";
import type { Store } from "../store/store.ts";
import { toFlag } from "../store/tables.ts";
import { readAgent } from "../visit/read-platform.ts";
import { createClientLimit } from "./limit-clients.ts";
import { nameVisit, readVisitTime } from "./name-visit.ts";
import { createNotedWriter } from "./write-noted-visits.ts";
import type { HostedLink } from "./hosted-links.ts";
import type { Site } from "./sites.ts";

/**
 * Notes who visits the page of a link with deferred deep linking: what the request tells when the
 * page is asked for, and more of it when the page's script tells what the phone looks like.
 */
export type VisitCollector = {
  /**
   * Answers by what the page's script names the visit; undefined where none is noted. The page does
   * not wait for the visit to be written.
   */
  readonly noteRequest: (visited: Visited) => Promise<string | undefined>;
  /** False where the message says nothing that could be noted. */
  readonly noteScript: (visited: Visited) => Promise<boolean>;
};

type Visited = {
  readonly request: IncomingMessage;
  readonly site: Pick<Site, "project">;
  readonly hosted: Pick<HostedLink, "link">;
  readonly query: string;
};

export type CollectorOptions = {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly setAlarm: SetAlarm;
  /** Who is believed what they say of their clients' addresses. */
  readonly trustedProxies?: TrustedProxies | undefined;
  readonly report: (error: unknown) => unknown;
};

/** What a visit is called, and when it began. */
type Named = { readonly id: string; readonly visitedAt: number; readonly seal: Seal };

/** Apps need a few parameters; a stranger could send 8,000 characters with each visit. */
const mostQuery_characters = 2000;

/** The empty text represents all addresses that are shared or unknown. */
const notedVisits = {
  window_ms: 60_000,
  findMost: (client: string) => (client === "" ? 6000 : 120),
} as const;

/** A script's message has a tenth of it. */
const mostBytes = 4096;

export function createVisitCollector(options: CollectorOptions): VisitCollector {
  const { store, clock, random, report } = options;
  const trusts = createTrust(options.trustedProxies);
  const limit = createClientLimit(clock, notedVisits);
  const write = createNotedWriter(options);

  async function note(visited: Visited, named: Named, told: Marks | undefined): Promise<void> {
    const { request, site, hosted, query } = visited;
    const { headers } = request;
    const address = findToldAddress(findClientAddress(request, trusts), headers);
    const place = findPlace(address);
    // Many people behind one shared address must not use up each other's share.
    if (!limit.takes(place === undefined || place.isShared ? "" : place.group)) return;
    const requested = readRequest(readAgent(headers), headers["accept-language"]);
    const marks = joinMarks(told ?? {}, requested);
    if (marks.device === undefined) return;
    const { id, visitedAt, seal } = named;
    const visit = {
      project_id: site.project.id,
      id,
      link_id: hosted.link.id,
      query: cutQuery(query, mostQuery_characters),
      address: place === undefined ? null : seal("address", place.group),
      is_shared: toFlag(place?.isShared === true),
      whole: sealAll({ marks, address: place }, seal),
      marks: JSON.stringify(sealMarks(marks, seal)),
      ends_at: visitedAt + limits.deferred_visit_ms,
    };
    await write({ visit, isWhole: told !== undefined });
  }

  async function findSeal({ site, hosted }: Visited) {
    const seal = createSeal(await readSealKey(store, random), site.project.id);
    return { seal, linkId: hosted.link.id };
  }

  return {
    noteRequest: async (visited) => {
      try {
        const by = await findSeal(visited);
        const visitedAt = clock.now();
        const id = nameVisit(by, visitedAt, random);
        // A HEAD request is nobody who reads the page.
        const isRead = visited.request.method !== "HEAD";
        if (isRead) note(visited, { id, visitedAt, seal: by.seal }, undefined).catch(report);
        return id;
      } catch (error) {
        // The page is worth more than the visit.
        report(error);
        return undefined;
      }
    },
    noteScript: async (visited) => {
      const message = await readMessage(visited.request);
      const id = message?.["visit"];
      if (typeof id !== "string") return false;
      const by = await findSeal(visited);
      const visitedAt = readVisitTime(by, id);
      if (visitedAt === undefined || !isOpen(visitedAt, clock.now())) return false;
      await note(visited, { id, visitedAt, seal: by.seal }, readFingerprint(message ?? {}));
      return true;
    },
  };
}

/** A message that comes late, or again, makes no visit longer. */
function isOpen(visitedAt: number, now: number): boolean {
  const ends_at = visitedAt + limits.deferred_visit_ms;
  return ends_at > now && ends_at <= findLatestEnd(now);
}

/** A page of another site may send no JSON here: it would have to ask first, and gets no answer. */
export function isScriptMessage({ method, headers }: IncomingMessage): boolean {
  if (method !== "POST") return false;
  const type = headers["content-type"] ?? "";
  const site = headers["sec-fetch-site"] ?? "same-origin";
  return /^application\/json\s*(;|$)/i.test(type) && site === "same-origin";
}

async function readMessage(request: IncomingMessage): Promise<JsonObject | undefined> {
  const bytes = await readAtMost(request, mostBytes);
  if (bytes === undefined) return undefined;
  try {
    const message: unknown = JSON.parse(bytes.toString());
    return isJsonObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}
