import { andThen, type Awaitable } from "../contract/awaitable.ts";
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

/** A project under one of its host names, as it is now: any change makes another site of it. */
export type Site = {
  /** No two sites have the same number. */
  readonly serial: number;
  readonly project: SiteProject;
  readonly tenant: Tenant;
  /** The origin of its links' addresses. */
  readonly origin: string;
  /** The origin that was visited: a project with a domain of its own has its subdomain as well. */
  readonly visitedOrigin: string;
  /** The same links under the name that only the Open button leads to, if there is one. */
  readonly secondOrigin: string | undefined;
  /** Whether this is that second name. */
  readonly isSecond: boolean;
  /** The names of these origins' hosts. */
  readonly hostnames: readonly string[];
};

export type SitesOptions = {
  readonly store: Store;
  readonly clock: Pick<Clock, "monotonic">;
  /** With `{subdomain}` in it, or the one origin of the oldest project. */
  readonly linkOrigin: string;
  readonly secondOrigin?: string | undefined;
};

const mostSites = 1000;

/** While the row of the project stays the same, so does the site; undefined without a project. */
type CachedSite = { readonly site: Site | undefined; readonly row: string | undefined };

/**
 * Sites, cached until they change: one ends with its project's generation or its settings, and
 * with it every link that was found on it. Clicks change neither.
 */
export function createSites(options: SitesOptions) {
  const { store, clock } = options;
  const { db } = store;
  const find = createFreshCache<CachedSite>({ store, clock, most: mostSites, read: readSite });
  let serial = 0;

  async function findProject(hostname: string): Promise<Site | undefined> {
    const read = readHostname(hostname, options);
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
    const row = site && JSON.stringify(site.project);
    return before !== undefined && row === before.row ? before : { site, row };
  }

  return {
    /** Whether a host name is below a link origin, whether a project has it or not. */
    isLinkHost: (hostname: string) => readHostname(hostname, options) !== undefined,

    /** Undefined where no project is served under that name. */
    find: (hostname: string): Awaitable<Site | undefined> =>
      andThen(find(hostname), (cached) => cached?.site),
  };
}

/** The subdomain is undefined on the one host that all links share. */
type Hostname = { readonly subdomain: string | undefined; readonly isSecond: boolean };

/** Undefined for a name that neither link origin's pattern covers. */
function readHostname(
  hostname: string,
  { linkOrigin, secondOrigin }: SitesOptions,
): Hostname | undefined {
  const second = secondOrigin && matchLinkHost(secondOrigin, hostname);
  if (second !== undefined) return { subdomain: second, isSecond: true };
  const subdomain = matchLinkHost(linkOrigin, hostname);
  const isNone = subdomain === undefined && !isSharedLinkHost(linkOrigin, hostname);
  return isNone ? undefined : { subdomain, isSecond: false };
}
