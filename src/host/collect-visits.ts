import type { IncomingMessage } from "node:http";
import { joinMarks, readFingerprint, readRequest, type Marks } from "../attribution/marks.ts";
import { createSeal, sealAll, sealMarks, type Seal } from "../attribution/compare-phones.ts";
import type { Clock, Random } from "../contract/clock.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { limits } from "../contract/limits.ts";
import { cutQuery } from "../contract/rules/address-query.ts";
import {
  findClientAddress,
  findOwnAddress,
  findClientNetwork,
  createTrust,
  type TrustedProxies,
} from "../network/client-address.ts";
import { readAtMost } from "../network/read-body.ts";
import { findLatestEnd, readSealKey } from "../store/installs.ts";
import type { Store } from "../store/store.ts";
import { toFlag } from "../store/tables.ts";
import { isSameSecret } from "../text/secrets.ts";
import { readAgent } from "../visit/read-platform.ts";
import { createClientLimit } from "./limit-clients.ts";
import type { DeferredVisits } from "./deferred-visits.ts";
import type { HostedLink } from "./hosted-links.ts";
import type { Site } from "./sites.ts";

/**
 * Records visits for deferred links, so that installs can be matched to them. First, the request
 * for a page is recorded under the visit's ID. Then the page's script reports properties of the
 * phone.
 */
export type VisitCollector = {
  /**
   * Returns the visit's ID for the page's script, before the visit is written. Returns undefined if
   * the visit cannot be recorded.
   */
  readonly noteRequest: (visited: VisitedPage) => Promise<string | undefined>;
  /**
   * Adds the properties that the page's script reports. Returns false if its message is invalid.
   */
  readonly noteScript: (visited: VisitedPage) => Promise<boolean>;
};

type VisitedPage = {
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
  /** The proxies whose reports of their clients' IP addresses are trusted. */
  readonly trustedProxies?: TrustedProxies | undefined;
  readonly report: (error: unknown) => unknown;
};

type VisitIdentity = { readonly id: string; readonly visitedAt: number; readonly seal: Seal };

/** Longer queries are truncated, because anyone can send a query of any length. */
const mostQuery_characters = 2000;

/**
 * The maximum number of visits per minute and client. The empty string represents all clients whose
 * IP address is shared or unknown.
 */
const visitLimit = {
  window_ms: 60_000,
  findMost: (client: string) => (client === "" ? 6000 : 120),
} as const;

/** The size limit of a message from the page's script. Real messages are far smaller. */
const mostBytes = 4096;

export function createVisitCollector(options: CollectorOptions): VisitCollector {
  const { store, clock, random, deferredVisits, report } = options;
  const trusts = createTrust(options.trustedProxies);
  const limit = createClientLimit(clock, visitLimit);

  async function note(
    visited: VisitedPage,
    named: VisitIdentity,
    reported: Marks | undefined,
  ): Promise<void> {
    const { request, site, hosted, query } = visited;
    const { headers } = request;
    const address = findOwnAddress(findClientAddress(request, trusts), headers);
    const place = findClientNetwork(address);
    // An IP address that many visitors share must not have the limit of a single visitor.
    if (!limit.takes(place === undefined || place.isShared ? "" : place.group)) return;
    const requested = readRequest(readAgent(headers), headers["accept-language"]);
    const marks = joinMarks(reported ?? {}, requested);
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
    await deferredVisits.note({ visit, isWhole: reported !== undefined });
  }

  async function findSeal({ site, hosted }: VisitedPage) {
    const seal = createSeal(await readSealKey(store, random), site.project.id);
    return { seal, linkId: hosted.link.id };
  }

  return {
    noteRequest: async (visited) => {
      try {
        const by = await findSeal(visited);
        const visitedAt = clock.now();
        const id = nameVisit(by, visitedAt, random);
        // A HEAD request is not a visit, because it does not load the page.
        const isRead = visited.request.method !== "HEAD";
        if (isRead) note(visited, { id, visitedAt, seal: by.seal }, undefined).catch(report);
        return id;
      } catch (error) {
        // The visitor gets the page even if the visit's ID cannot be created.
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

/** Whether the visit has not expired. A late or repeated message does not extend its lifetime. */
function isOpen(visitedAt: number, now: number): boolean {
  const ends_at = visitedAt + limits.deferred_visit_ms;
  return ends_at > now && ends_at <= findLatestEnd(now);
}

/**
 * Whether a request may come from the script of one of our pages. Other sites cannot send JSON
 * here, because their browsers must first send a CORS preflight request, which is rejected.
 */
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
 * A visit's ID contains the time, random characters, and a proof. The proof shows that this server
 * created the ID for this link. Without the proof, anyone could forge visits or extend old ones.
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

/**
 * Returns the time of a visit from its ID. Returns undefined if this server did not create the ID
 * for this link.
 */
function readVisitTime({ seal, linkId }: SealedLink, id: string): number | undefined {
  const [, time = "", bytes = "", proof = ""] = name.exec(id) ?? [];
  const isOurs = isSameSecret(proof, prove(seal, linkId, time + bytes));
  return isOurs ? Number.parseInt(time, 36) : undefined;
}

function prove(seal: Seal, linkId: string, begin: string): string {
  return seal("visit", JSON.stringify([linkId, begin])).slice(0, proof_characters);
}
