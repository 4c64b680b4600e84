import type { IncomingMessage } from "node:http";
import { joinMarks, type Marks } from "../attribution/marks.ts";
import { readFingerprint } from "../attribution/read-fingerprint.ts";
import { readRequest } from "../attribution/read-request.ts";
import { createSeal, sealAll, sealMarks, type Seal } from "../attribution/seal-marks.ts";
import type { Clock, Random } from "../contract/clock.ts";
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
import { isSameSecret } from "../text/same-secret.ts";
import { readAgent } from "../visit/read-platform.ts";
import { createClientLimit } from "./limit-clients.ts";
import type { DeferredVisits } from "./deferred-visits.ts";
import type { HostedLink } from "./hosted-links.ts";
import type { Site } from "./sites.ts";

/**
 * Notes visits of the pages of links with deferred deep linking, and names each visit: first with
 * what the page's request shows, then with what the page's script reports about the phone.
 */
export type VisitCollector = {
  /**
   * Returns the visit's name for the page's script; undefined if the visit is not noted. The page
   * does not wait for the visit to be written.
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
  readonly deferredVisits: Pick<DeferredVisits, "note">;
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
  const { store, clock, random, deferredVisits, report } = options;
  const trusts = createTrust(options.trustedProxies);
  const limit = createClientLimit(clock, notedVisits);

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
    await deferredVisits.note({ visit, isWhole: told !== undefined });
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
  try {
    const bytes = await readAtMost(request, mostBytes);
    const message: unknown = JSON.parse(bytes?.toString() ?? "");
    return isJsonObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A visit's name has its time, random characters, and a proof that this server made the name for
 * this link. A visit is matched exactly by what comes with its name, so without the proof a
 * stranger could make up a visit or restart an old one.
 */

const [time_characters, random_characters, proof_characters] = [8, 7, 7];
const name = new RegExp(
  `^([\\da-z]{${time_characters}})([\\w-]{${random_characters}})([\\w-]{${proof_characters}})$`,
);

type SealedLink = {
  readonly seal: Seal;
  readonly linkId: string;
};

function nameVisit({ seal, linkId }: SealedLink, visitedAt: number, random: Random): string {
  const time = visitedAt.toString(36).padStart(time_characters, "0");
  const bytes = Buffer.from(random.bytes(random_characters)).toString("base64url");
  const begin = time + bytes.slice(0, random_characters);
  return begin + prove(seal, linkId, begin);
}

/** Undefined for a name that is none of ours, or of another link's visit. */
function readVisitTime({ seal, linkId }: SealedLink, id: string): number | undefined {
  const [, time = "", bytes = "", proof = ""] = name.exec(id) ?? [];
  const isOurs = isSameSecret(proof, prove(seal, linkId, time + bytes));
  return isOurs ? Number.parseInt(time, 36) : undefined;
}

function prove(seal: Seal, linkId: string, begin: string): string {
  return seal("visit", JSON.stringify([linkId, begin])).slice(0, proof_characters);
}
