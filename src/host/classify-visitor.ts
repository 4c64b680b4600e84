import { createCache } from "../store/cache.ts";
import type { IncomingHttpHeaders } from "node:http";
import { isbot, isbotPatterns } from "isbot";
import type { Visitor } from "../visit/decide-visit.ts";
import { readAgent, readInAppBrowser, readPlatform } from "../visit/read-platform.ts";

/** What a request says about its visitor. */
export type IncomingVisitor = Required<Visitor> & {
  /** Whether a person will see the destination. */
  readonly isPerson: boolean;
  /** The app whose in-app browser sent the request, if that browser cannot open other apps. */
  readonly within: string | undefined;
};

const mostAgents = 2000;
/** Longer headers are not cached, because a shortened string keeps the whole header in memory. */
const mostCachedLength = 400;

/** Browsers start their User-Agent header with one of these words. Programs use their own names. */
const browserPattern = /^(?:Mozilla|Opera)\//;
/** Programs that people run, but that isbot classifies as bots. */
const toolPattern = /^(?:curl|wget|httpie|postmanruntime|insomnia|bruno)\b/i;

/**
 * Words in names of ordinary apps for which isbot classifies them as bots. They are ignored on
 * phones, because bots that imitate a phone also contain other words.
 */
const misleadingWords = ["|", " News", "Feed"];

function isBotOnPhone(agent: string): boolean {
  const patterns = isbotPatterns(agent).map((pattern) => new RegExp(pattern, "i"));
  return patterns.some((pattern) => !misleadingWords.some((word) => pattern.test(word)));
}

export function createVisitorReader(): (headers: IncomingHttpHeaders) => IncomingVisitor {
  const cache = createCache<IncomingVisitor>(mostAgents);

  function classify(agent: string): IncomingVisitor {
    const known = cache.find(agent);
    if (known !== undefined) return known;
    const platform = readPlatform(agent);
    const isSuspect = agent !== "" && !toolPattern.test(agent) && isbot(agent);
    const bot = isSuspect && (platform === "desktop" || isBotOnPhone(agent));
    const isPerson = !bot && browserPattern.test(agent);
    const visitor = { platform, bot, isPerson, within: readInAppBrowser(agent) };
    if (agent.length <= mostCachedLength) cache.set(agent, visitor);
    return visitor;
  }

  return (headers) => {
    const visitor = classify(readAgent(headers));
    return visitor.isPerson && isPrefetch(headers) ? { ...visitor, isPerson: false } : visitor;
  };
}

/** A browser that prefetches a link has not opened it, so this is not a click. */
function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return (
    isAhead(headers["purpose"]) ||
    isAhead(headers["sec-purpose"]) ||
    isAhead(headers["x-purpose"]) ||
    isAhead(headers["x-moz"])
  );
}

function isAhead(purpose: string | readonly string[] | undefined): boolean {
  return typeof purpose === "string" && /prefetch|prerender|preview/i.test(purpose);
}
