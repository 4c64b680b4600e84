import type { IncomingMessage } from "node:http";
import type { Clock } from "../contract/clock.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import { describeVisit, hour_ms, type VisitSource, type VisitKind } from "../stats/visit.ts";
import { createCache } from "../store/cache.ts";
import type { Platform } from "../visit/decide-visit.ts";
import type { Site } from "./sites.ts";

/** Returns the country code of a request in capital letters, if known. */
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

/** The longest host name that DNS allows. */
const longestHost = 253;
const mostKinds = 5000;
/** Longer Referer headers are not cached. */
const mostCachedLength = 300;

/**
 * Decides how a visit is counted. The result is cached for an hour, because parsing the headers
 * takes a tenth of a redirect's time.
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
    // No two requests share a key by accident, because only the last part can contain spaces.
    const key = `${hour} ${platform} ${source} ${site.serial} ${country} ${referer}`;
    const known = kinds.find(key);
    if (known !== undefined) return known;
    const host = readHost(referer);
    // Another link of the same project, or the button on its page, is not a referrer.
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
 * The host of a referring page, or the name of an Android app. Single words are ignored: they are
 * not public hosts, and could be confused with names such as "direct".
 */
function readHost(header: string): string {
  const [, app] = /^android-app:\/\/([\w.]+)/i.exec(header) ?? [];
  const host = (app ?? readUrl(header)?.hostname ?? "").toLowerCase();
  const shown = dropWww(host);
  const isNamed = /[.:]/.test(shown) || shown === "localhost";
  return isNamed && host.length <= longestHost && /^[\w.:[\]-]+$/.test(host) ? host : "";
}

/** Without `www.`, because both names of a host are usually one site. */
function dropWww(host: string): string {
  return host.replace(/^www\./, "");
}
