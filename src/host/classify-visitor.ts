import { createCache } from "../store/cache.ts";
import type { IncomingHttpHeaders } from "node:http";
import { isbot, isbotPatterns } from "isbot";
import type { Visitor } from "../visit/decide-visit.ts";
import { readAgent, readInAppBrowser, readPlatform } from "../visit/read-platform.ts";

/** What a request tells of its visitor. */
export type IncomingVisitor = Required<Visitor> & {
  /** Whether a person is at the other end, who will see where the link leads. */
  readonly isPerson: boolean;
  /** The app whose browser it is, where that opens no other app. */
  readonly within: string | undefined;
};

const mostAgents = 2000;
/** A part of a longer text holds all of it in memory: those are classified again each time. */
const mostCachedLength = 400;

/** Every browser's header begins with one of these; a program has a name of its own. */
const browserPattern = /^(?:Mozilla|Opera)\//;
/** Programs that a person runs, and which isbot takes for bots. */
const toolPattern = /^(?:curl|wget|httpie|postmanruntime|insomnia|bruno)\b/i;

/**
 * Words in the names of apps that show pages to people, which isbot takes for bots' words. On a
 * phone they do not count: a bot that says it is a phone has other words that tell it.
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

/** A browser fetches ahead, in case its user follows the link, and counts as no click. */
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
