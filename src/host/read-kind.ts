import type { IncomingMessage } from "node:http";
import type { Clock } from "../contract/clock.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import { hour_ms, tellVisit, type Source, type Told, type Visit } from "../stats/visit.ts";
import type { Platform } from "../visit/decide-visit.ts";
import { createRecentCache } from "./recent-cache.ts";
import type { Site } from "./sites.ts";

/** Two capital letters of the country that a request comes from, where that can be told. */
type FindCountry = (request: IncomingMessage) => string | undefined;

export type KindOptions = {
  readonly clock: Pick<Clock, "now">;
  readonly findCountry?: FindCountry | undefined;
};

type Seen = {
  readonly request: IncomingMessage;
  readonly site: Pick<Site, "serial" | "project" | "origin" | "visitedOrigin" | "secondOrigin">;
  readonly platform: Platform;
  readonly source: Source;
};

const mostReferrers = 5000;
/** A host name has no more; a longer header is that of a long address, and is read each time. */
const longestHost = 253;
const mostCachedLength = 300;

/** Where visitors come from, and what was told of the last of them: most of the next are alike. */
type Referrer = {
  /** Nothing where nobody led there. */
  readonly host: string;
  /** In places by platform and country. */
  readonly last: ((Apart & { readonly told: Told }) | undefined)[];
};

const mostPlaces = 16;

/** What tells visits by the same referrer apart. */
type Apart = Pick<Seen, "platform" | "source"> & {
  readonly hour: number;
  /** Of the site. */
  readonly serial: number;
  readonly country: string | undefined;
};

/** What is told apart of a visit. The same comes again and again, and is kept for the hour. */
export function createKindReader({ clock, findCountry }: KindOptions): (seen: Seen) => Told {
  const referrers = createRecentCache<Referrer>(mostReferrers);
  const kinds = createRecentCache<Told>(mostReferrers);
  const nowhere: Referrer = { host: "", last: [] };

  function readReferrer(header: string | undefined): Referrer {
    if (header === undefined || header === "") return nowhere;
    const known = referrers.find(header);
    if (known !== undefined) return known;
    const referrer = { host: readHost(header), last: [] };
    if (header.length <= mostCachedLength) referrers.set(header, referrer);
    return referrer;
  }

  function findTold(site: Seen["site"], host: string, facts: Apart & Pick<Visit, "at">): Told {
    const { hour, at, platform, source, country } = facts;
    // A number and short words; no two visits that differ have the same.
    const key = `${hour} ${platform} ${source} ${site.serial} ${country} ${host}`;
    const known = kinds.find(key);
    if (known !== undefined) return known;
    const referrer = host === "" || isOwn(site, host) ? undefined : dropWww(host);
    const projectId = site.project.id;
    const told = tellVisit({ projectId, what: "click", at, platform, source, country, referrer });
    kinds.set(key, told);
    return told;
  }

  return ({ request, site, platform, source }) => {
    const at = clock.now();
    const hour = Math.floor(at / hour_ms);
    const referrer = readReferrer(request.headers.referer);
    const apart = { hour, serial: site.serial, platform, source, country: findCountry?.(request) };
    const place = findPlace(apart);
    const last = referrer.last[place];
    if (last !== undefined && isAlike(last, apart)) return last.told;
    const told = findTold(site, referrer.host, { ...apart, at });
    referrer.last[place] = { ...apart, told };
    return told;
  };
}

/** Any will do: of two that have the same, each makes the other's next visit be looked up. */
function findPlace({ platform, country = "??" }: Apart): number {
  const letters = country.charCodeAt(0) * 5 + country.charCodeAt(1);
  return (platform.charCodeAt(0) + letters) % mostPlaces;
}

function isAlike(one: Apart, other: Apart): boolean {
  return (
    one.hour === other.hour &&
    one.serial === other.serial &&
    one.platform === other.platform &&
    one.source === other.source &&
    one.country === other.country
  );
}

/**
 * Browsers send a web page's address, and on Android also the name of the app. A single word is no
 * host that anybody else knows, and might be one of those that are told in place of a host.
 */
function readHost(header: string): string {
  const [, app] = /^android-app:\/\/([\w.]+)/i.exec(header) ?? [];
  const host = (app ?? readUrl(header)?.hostname ?? "").toLowerCase();
  const told = dropWww(host);
  const isNamed = /[.:]/.test(told) || told === "localhost";
  return isNamed && host.length <= longestHost && /^[\w.:[\]-]+$/.test(host) ? host : "";
}

/** As it is told: both names of a host are most often one site, but they may be two projects'. */
function dropWww(host: string): string {
  return host.replace(/^www\./, "");
}

/** Who came by another link of the project, or by its page's button, came from nowhere else. */
function isOwn({ origin, visitedOrigin, secondOrigin }: Seen["site"], host: string): boolean {
  return [origin, visitedOrigin, secondOrigin].some(
    (own) => own && readUrl(own)?.hostname === host,
  );
}
