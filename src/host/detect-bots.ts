import type { IncomingHttpHeaders } from "node:http";
import { isbot, isbotPatterns } from "isbot";
import type { Platform } from "../visit/decide-visit.ts";

/** Distinguishes people from bots, programs and prefetching browsers. */

/**
 * The User-Agent header of every browser starts like this. Other programs start with their own
 * names.
 */
const browserPattern = /^(?:Mozilla|Opera)\//;
/** Command-line and API tools that people use. The package isbot considers them bots. */
const toolPattern = /^(?:curl|wget|httpie|postmanruntime|insomnia|bruno)\b/i;

/**
 * Words that isbot takes as signs of a bot. They are ignored on phones, because names of ordinary
 * apps contain them. A bot that imitates a phone is recognized by other words.
 */
const misleadingWords = ["|", " News", "Feed"];

export function isBot(agent: string, platform: Platform): boolean {
  const isSuspect = agent !== "" && !toolPattern.test(agent) && isbot(agent);
  return isSuspect && (platform === "desktop" || isBotOnPhone(agent));
}

export function isBrowser(agent: string): boolean {
  return browserPattern.test(agent);
}

function isBotOnPhone(agent: string): boolean {
  const patterns = isbotPatterns(agent).map((pattern) => new RegExp(pattern, "i"));
  return patterns.some((pattern) => !misleadingWords.some((word) => pattern.test(word)));
}

/** Whether a browser only prefetches the link. A prefetch is not a click. */
export function isPrefetch(headers: IncomingHttpHeaders): boolean {
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
