import { isReservedPath } from "../contract/rules/link-path.ts";
import { findAddressFault } from "../contract/rules/store-address.ts";
import { readUrl, writeForHeader } from "../contract/rules/web-address.ts";
import { makeAnswer, type Answer } from "./http-answer.ts";
import type { Site } from "./sites.ts";

/**
 * What visitors of a project's host meet who come by no link: where the project leads them, else a
 * quiet page with its name. It is the same whether a link was deleted or never made, and the next
 * visit asks anew, so that a link that is made meanwhile works at once.
 */
export async function answerElse(
  site: Site,
  path: string,
  languages: string | undefined,
): Promise<Answer> {
  const field = path === "" ? "home_url" : "not_found_url";
  // Programs that ask for such files take whatever they are led to for what they asked for.
  const to = isReservedPath(path) ? undefined : readPage(site, field);
  if (to !== undefined) return makeAnswer(302, { location: to, ...leadingHeaders });
  const { makeQuietPage } = await import("./quiet-page.ts");
  return makeQuietPage(path === "" ? "home" : "not_found", site.project.name, languages);
}

const leadingHeaders = {
  "cache-control": "private, no-store",
  "referrer-policy": "strict-origin-when-cross-origin",
  "x-robots-tag": "noindex",
} as const;

/**
 * What the rules refuse now counts as missing, even if it was stored once: the project's host may
 * have another name since then.
 */
function readPage(site: Site, field: "home_url" | "not_found_url"): string | undefined {
  const address = site.project[field];
  if (address === null || findAddressFault(field, address) !== undefined) return undefined;
  const isOwn = site.hostnames.includes(readUrl(address)?.hostname ?? "");
  return isOwn ? undefined : writeForHeader(address);
}
