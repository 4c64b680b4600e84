import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Clock } from "../contract/clock.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import { describeVisit, hour_ms, type VisitSource, type VisitKind } from "../stats/visit.ts";
import { createCache } from "../store/cache.ts";
import type { Visitor, Platform } from "../visit/decide-visit.ts";
import { readAgent, readInAppBrowser, readPlatform } from "../visit/read-platform.ts";
import { isBot, isBrowser, isPrefetch } from "./detect-bots.ts";
import type { Site } from "./sites.ts";

/** Reads from a request what kind of visitor opens a link. */

/** What a request's headers say about the visitor. */
export type IncomingVisitor = Required<Visitor> & {
  /** False for bots, programs and prefetches. Their visits are not counted. */
  readonly isPerson: boolean;
  /** The app whose in-app browser sent the request, if that browser cannot open other apps. */
  readonly within: string | undefined;
};

const mostAgents = 2000;
/**
 * Visitors with longer headers are not cached, because a cached substring would keep the whole
 * header in memory.
 */
const mostCachedLength = 400;

export function createVisitorReader(): (headers: IncomingHttpHeaders) => IncomingVisitor {
  const cache = createCache<IncomingVisitor>(mostAgents);

  function classify(agent: string): IncomingVisitor {
    const known = cache.find(agent);
    if (known !== undefined) return known;
    const platform = readPlatform(agent);
    const bot = isBot(agent, platform);
    const isPerson = !bot && isBrowser(agent);
    const visitor = { platform, bot, isPerson, within: readInAppBrowser(agent) };
    if (agent.length <= mostCachedLength) cache.set(agent, visitor);
    return visitor;
  }

  return (headers) => {
    const visitor = classify(readAgent(headers));
    return visitor.isPerson && isPrefetch(headers) ? { ...visitor, isPerson: false } : visitor;
  };
}

/** Returns the country code of a request in uppercase, if known. */
type CountryFinder = (request: IncomingMessage) => string | undefined;

export type KindOptions = {
  readonly clock: Pick<Clock, "now">;
  readonly findCountry?: CountryFinder | undefined;
};

type KindRequest = {
  readonly request: IncomingMessage;
  readonly site: Pick<Site, "serial" | "project" | "hostnames">;
  readonly platform: Platform;
  readonly source: VisitSource;
};

const longestHost = 253;
const mostKinds = 5000;

/**
 * Decides how a visit is counted. The result is cached for an hour, because parsing the headers
 * would slow down redirects.
 */
export function createKindReader({
  clock,
  findCountry,
}: KindOptions): (request: KindRequest) => VisitKind {
  const kinds = createCache<VisitKind>(mostKinds);

  return ({ request, site, platform, source }) => {
    const { referer = "" } = request.headers;
    const at = clock.now();
    const hour = Math.floor(at / hour_ms);
    const country = findCountry?.(request);
    // The key is unambiguous, because only the referrer at its end can contain spaces.
    const key = `${hour} ${platform} ${source} ${site.serial} ${country} ${referer}`;
    const known = kinds.find(key);
    if (known !== undefined) return known;
    const host = readHost(referer);
    // The project's own hosts, with its other links and pages, do not count as referrers.
    const isReferred = host !== "" && !site.hostnames.includes(host);
    const referrer = isReferred ? dropWww(host) : undefined;
    const projectId = site.project.id;
    const facts = { platform, source, country, referrer };
    const kind = describeVisit({ projectId, what: "click", at, ...facts });
    if (referer.length <= mostCachedLength) kinds.set(key, kind);
    return kind;
  };
}

/**
 * Returns the host of a referring page, or the name of an Android app. Ignores a single word,
 * because it could be confused with values such as `direct`.
 */
function readHost(header: string): string {
  const [, app] = /^android-app:\/\/([\w.]+)/i.exec(header) ?? [];
  const host = (app ?? readUrl(header)?.hostname ?? "").toLowerCase();
  const shown = dropWww(host);
  const isNamed = /[.:]/.test(shown) || shown === "localhost";
  return isNamed && host.length <= longestHost && /^[\w.:[\]-]+$/.test(host) ? host : "";
}

/** Removes `www.`, because a host name with and without it is usually the same site. */
function dropWww(host: string): string {
  return host.replace(/^www\./, "");
}
