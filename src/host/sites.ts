import { andThen, type Awaitable } from "../contract/waiting.ts";
import type { Clock } from "../contract/clock.ts";
import {
  fillLinkOrigin,
  fillSubdomain,
  isSharedLinkHost,
  matchLinkHost,
} from "../contract/rules/link-address.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import { createFreshCache } from "../store/cache.ts";
import { findOldestSubdomain, findSite, type SiteProject } from "../store/projects.ts";
import type { Store } from "../store/store.ts";
import type { Tenant } from "../store/tables.ts";

/** Finds the project of a host name, and caches it. */

/** A project, as visited on one of its host names. A change to the project creates a new object. */
export type Site = {
  readonly serial: number;
  readonly project: SiteProject;
  readonly tenant: Tenant;
  /** The origin of the URLs of the project's links. */
  readonly origin: string;
  /**
   * The origin of the request. A project with a custom domain can still be visited on its
   * subdomain.
   */
  readonly visitedOrigin: string;
  /** A second origin with the same links. Only the Open button of preview pages uses it. */
  readonly secondOrigin: string | undefined;
  readonly isSecond: boolean;
  /** The host names of the three origins above. */
  readonly hostnames: readonly string[];
};

export type SitesOptions = {
  readonly store: Store;
  readonly clock: Pick<Clock, "monotonic">;
  /** If the origin does not contain `{subdomain}`, all links belong to the oldest project. */
  readonly linkOrigin: string;
  readonly secondOrigin?: string | undefined;
};

const mostSites = 1000;

/** The site of a host name. It stays the same object until the project's row changes. */
type CachedSite = { readonly site: Site | undefined; readonly row: string | undefined };

/**
 * Finds sites, and caches them until the project's settings or `generation` change. Clicks do not
 * change them. A new site object gets a new serial number, so links cached for the old one are not
 * used.
 */
export function createSites(options: SitesOptions) {
  const { store, clock } = options;
  const { db } = store;
  const find = createFreshCache<CachedSite>({ store, clock, most: mostSites, read: readSite });
  let serial = 0;

  async function findProject(hostname: string): Promise<Site | undefined> {
    const read = matchOrigins(hostname, options);
    const subdomain = read?.subdomain ?? (read && (await findOldestSubdomain(db)));
    const found = await findSite(db, { hostname, subdomain });
    if (found === undefined) return undefined;
    const { project, by } = found;
    const { linkOrigin } = options;
    const origin = fillLinkOrigin(linkOrigin, project);
    const isSecond = by === "subdomain" && read?.isSecond === true;
    const isFirst = by === "subdomain" && !isSecond;
    const visitedOrigin = isFirst ? fillSubdomain(linkOrigin, project) : origin;
    const secondOrigin = options.secondOrigin && fillSubdomain(options.secondOrigin, project);
    const origins = [origin, visitedOrigin, secondOrigin];
    serial += 1;
    return {
      serial,
      project,
      tenant: { db, projectId: project.id },
      origin,
      visitedOrigin,
      secondOrigin,
      isSecond,
      hostnames: origins.flatMap((one) => readUrl(one ?? "")?.hostname ?? []),
    };
  }

  async function readSite(hostname: string, before: CachedSite | undefined): Promise<CachedSite> {
    const site = await findProject(hostname);
    // The row contains `generation`. Every write to the project's links, apps or templates
    // increases it.
    const row = site && JSON.stringify(site.project);
    return before !== undefined && row === before.row ? before : { site, row };
  }

  return {
    /** Whether a host name matches a link origin, even if no project uses the host name. */
    isLinkHost: (hostname: string) => matchOrigins(hostname, options) !== undefined,

    /** Returns undefined if no project has this host name. */
    find: (hostname: string): Awaitable<Site | undefined> =>
      andThen(find(hostname), (cached) => cached?.site),
  };
}

/** If all links share one host, `subdomain` is undefined. */
type Hostname = { readonly subdomain: string | undefined; readonly isSecond: boolean };

/** Returns undefined if the host name matches neither the link origin nor the second origin. */
function matchOrigins(
  hostname: string,
  { linkOrigin, secondOrigin }: SitesOptions,
): Hostname | undefined {
  const second = secondOrigin && matchLinkHost(secondOrigin, hostname);
  if (second !== undefined) return { subdomain: second, isSecond: true };
  const subdomain = matchLinkHost(linkOrigin, hostname);
  const isNone = subdomain === undefined && !isSharedLinkHost(linkOrigin, hostname);
  return isNone ? undefined : { subdomain, isSecond: false };
}
