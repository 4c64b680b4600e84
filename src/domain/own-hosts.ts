import { readIfAllowed } from "../bulk/select/read-if-allowed.ts";
import { listLinkHosts, type KnownKey } from "../contract/access.ts";
import { contract } from "../contract/index.ts";
import { paging } from "../contract/limits.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import type { ProjectReading } from "./expected.ts";

/**
 * The hosts that may be looked at: those of the key's own project, or for a master key the verified
 * domains of all. No other name is ever asked for anything.
 */

const { projects } = contract;

/** The one where links are shown comes first. */
export async function listOwnOrigins(
  known: Pick<KnownKey, "linkHost" | "otherLinkHosts">,
  reading: Pick<ProjectReading, "call" | "signal" | "mayRead">,
): Promise<readonly string[]> {
  const origins = listLinkHosts(known);
  if (origins.length > 0) return [...new Set(origins)];
  return reading.mayRead(projects.index) ? listVerifiedDomains(reading) : [];
}

const mostPages = 20;

async function listVerifiedDomains({
  call,
  signal,
}: Pick<ProjectReading, "call" | "signal">): Promise<readonly string[]> {
  const origins: string[] = [];
  for (let page = 1; page <= mostPages; page += 1) {
    const asked = { page, limit: paging.max_limit };
    // Of a deployment elsewhere it may only now be known that this is no master key.
    const answer = await readIfAllowed(() => call(projects.index, asked, signal));
    if (answer === undefined) break;
    for (const { custom_domain, custom_domain_verified } of answer.projects) {
      const origin = custom_domain_verified ? readOrigin(custom_domain ?? "") : undefined;
      if (origin !== undefined) origins.push(origin);
    }
    if (!answer.meta.next) break;
  }
  return [...new Set(origins)];
}

/** A domain as another deployment has it may be anything. */
function readOrigin(domain: string): string | undefined {
  const host = readHost(domain);
  return host === undefined || host.port !== "" ? undefined : host.origin;
}

/** The origin that somebody means by a host's name, in any way of writing it. */
export function findOwnOrigin(given: string, origins: readonly string[]): string | undefined {
  const meant = readHost(given);
  if (meant === undefined) return undefined;
  return origins.find((origin) => {
    const own = new URL(origin);
    return own.hostname === meant.hostname && (meant.port === "" || meant.port === own.port);
  });
}

/** A longer one is no name, and slow to be read as one. */
const mostCharacters = 300;

/** In Unicode or not, with a dot at the end, or as an origin; nothing that is more than a host. */
function readHost(text: string): URL | undefined {
  const written = text.trim();
  if (written.length > mostCharacters) return undefined;
  const url = readUrl(/^https?:\/\//i.test(written) ? written : `https://${written}`);
  if (url === undefined || url.pathname !== "/" || /[@?#\\]/.test(written)) return undefined;
  const hostname = url.hostname.replace(/\.$/, "");
  return readUrl(`${url.protocol}//${hostname}${url.port === "" ? "" : `:${url.port}`}`);
}
