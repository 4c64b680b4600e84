import type { IncomingMessage } from "node:http";
import { joinMarks, type Marks } from "../attribution/marks.ts";
import { readFingerprint } from "../attribution/read-fingerprint.ts";
import { readRequest } from "../attribution/read-request.ts";
import { createSeal, sealAll, sealLook, sealMarks } from "../attribution/seal-marks.ts";
import type { Clock, Random } from "../contract/clock.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { limits } from "../contract/limits.ts";
import { findClientAddress, findToldAddress, readArrival } from "../network/client-address.ts";
import { readAtMost } from "../network/read-at-most.ts";
import { findPlace } from "../network/shared-address.ts";
import { createTrust, type TrustedProxies } from "../network/trusted-proxies.ts";
import { writeVisit } from "../store/deferred-visits.ts";
import { readSealKey } from "../store/store-secrets.ts";
import type { Store } from "../store/store.ts";
import { createVisitLimit } from "./limit-visits.ts";
import type { HostedLink } from "./hosted-links.ts";
import type { Site } from "./sites.ts";

/**
 * Notes who visits the page of a link with deferred deep linking: what the request tells when the
 * page is asked for, and more of it when the page's script tells what the phone looks like.
 */
export type VisitCollector = {
  /** Answers by what the page's script names the visit. The page does not wait for the store. */
  readonly noteRequest: (visited: Visited) => string;
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
  /** Who is believed what they say of their clients' addresses. */
  readonly trustedProxies?: TrustedProxies | undefined;
  readonly report: (error: unknown) => unknown;
};

const id_bytes = 16;
/** A script's message has a tenth of it. */
const mostBytes = 4096;

export function createVisitCollector(options: CollectorOptions): VisitCollector {
  const { store, clock, random, report } = options;
  const trusts = createTrust(options.trustedProxies);
  const limit = createVisitLimit(clock);

  async function note(visited: Visited, id: string, told: Marks | undefined): Promise<void> {
    const { request, site, hosted, query } = visited;
    // A HEAD request is nobody who reads the page.
    if (request.method === "HEAD") return;
    const projectId = site.project.id;
    const { headers, socket } = request;
    const arrival = readArrival(socket.remoteAddress, headers);
    const address = findToldAddress(findClientAddress(arrival, trusts), arrival);
    const place = findPlace(address);
    if (!limit.takes(place?.group ?? "")) return;
    const requested = readRequest(headers["user-agent"] ?? "", headers["accept-language"]);
    const marks = joinMarks(told ?? {}, requested);
    if (marks.device === undefined) return;
    const seal = createSeal(await readSealKey(store, random), projectId);
    const row = {
      project_id: projectId,
      id,
      link_id: hosted.link.id,
      query,
      address: place === undefined ? null : seal("address", place.group),
      family: place?.family ?? null,
      look: sealLook(marks, seal) ?? null,
      whole: sealAll({ marks, address: place }, seal),
      marks: JSON.stringify(sealMarks(marks, seal)),
      ends_at: clock.now() + limits.deferred_visit_ms,
    };
    await store.write((db) => writeVisit(db, row, told !== undefined));
  }

  return {
    noteRequest: (visited) => {
      const id = Buffer.from(random.bytes(id_bytes)).toString("base64url");
      note(visited, id, undefined).catch(report);
      return id;
    },
    noteScript: async (visited) => {
      const message = await readMessage(visited.request);
      const id = message?.["visit"];
      if (typeof id !== "string" || !/^[\w-]{22}$/.test(id)) return false;
      await note(visited, id, readFingerprint(message ?? {}));
      return true;
    },
  };
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
