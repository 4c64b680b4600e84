import type { AndroidApp, IosApp } from "../contract/apps.ts";
import type { Clock } from "../contract/clock.ts";
import type { Link } from "../contract/links.ts";
import { fillLinkOrigin, fillSubdomain, matchLinkHost } from "../contract/rules/link-address.ts";
import { findPathFault } from "../contract/rules/link-path.ts";
import { androidAppStore, iosAppStore, type AppStore } from "../store/apps.ts";
import type { Source } from "../stats/visit.ts";
import { findVisited } from "../store/find-visited.ts";
import { findSite, type SiteProject } from "../store/sites.ts";
import type { Store } from "../store/store.ts";
import type { Tenant } from "../store/tenant.ts";
import { watchChanges } from "../store/watch-changes.ts";
import type { Platform } from "../visit/decide-visit.ts";
import type { Answer } from "./http-answer.ts";
import { createRecentCache } from "./recent-cache.ts";

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
};

/** A link with the apps on it. */
export type HostedLink = {
  readonly link: Link;
  /** What the path that was visited stands for beside the link. */
  readonly query: string;
  /** By which of its addresses it was visited. */
  readonly source: Extract<Source, "address" | "short">;
  readonly apps: {
    readonly ios_app: IosApp | undefined;
    readonly android_app: AndroidApp | undefined;
  };
  /** The redirects that were answered before, for the next visitors of the same platform. */
  readonly answers: { [Name in Platform]?: Answer };
};

export type SitesOptions = {
  readonly store: Store;
  readonly clock: Pick<Clock, "monotonic">;
  /** Both with `{subdomain}` in them. */
  readonly linkOrigin: string;
  readonly secondOrigin?: string | undefined;
};

const mostSites = 1000;
/** A cached link takes less than 1 kB. */
const mostLinks = 100_000;

type CachedSite = {
  readonly site: Site | undefined;
  /** The state of the store in which it was read. */
  readonly epoch: number;
  /** The project's row: while it stays the same, so does the site. */
  readonly row: string | undefined;
};

/**
 * What visits need, cached until it is changed: a site ends with its project's generation or its
 * settings, and with it every link that was found on it. Clicks change neither.
 */
export function createSites(options: SitesOptions) {
  const { store, clock } = options;
  const { db } = store;
  const changes = watchChanges(store, clock);
  const sites = createRecentCache<CachedSite>(mostSites);
  const links = createRecentCache<HostedLink>(mostLinks);
  const findIosApp = createAppFinder(iosAppStore);
  const findAndroidApp = createAppFinder(androidAppStore);
  let serial = 0;

  async function findProject(
    hostname: string,
    before: Site | undefined,
  ): Promise<Omit<Site, "serial"> | undefined> {
    const place = readHostname(hostname, options);
    const project = await findSite(db, place.field, place.value, before?.project.id);
    if (project === undefined) return undefined;
    const { linkOrigin, secondOrigin } = options;
    const origin = fillLinkOrigin(linkOrigin, project);
    const isFirst = place.field === "subdomain" && !place.isSecond;
    return {
      project,
      tenant: { db, projectId: project.id },
      origin,
      visitedOrigin: isFirst ? fillSubdomain(linkOrigin, project) : origin,
      secondOrigin: secondOrigin && fillSubdomain(secondOrigin, project),
      isSecond: place.isSecond,
    };
  }

  return {
    /** Whether a host name is below a link origin, whether a project has it or not. */
    isLinkHost: (hostname: string) => readHostname(hostname, options).field === "subdomain",

    /** Undefined where no project is served under that name. */
    find: async (hostname: string): Promise<Site | undefined> => {
      const epoch = await changes.read();
      const cached = sites.find(hostname);
      if (cached?.epoch === epoch) return cached.site;
      const found = await findProject(hostname, cached?.site);
      const row = JSON.stringify(found?.project);
      const isSame = cached !== undefined && row === cached.row;
      const site = isSame ? cached.site : found && { ...found, serial: (serial += 1) };
      sites.set(hostname, { site, epoch, row });
      return site;
    },

    /** What can be no path names no link. */
    findLink: async (site: Site, path: string): Promise<HostedLink | undefined> => {
      if (findPathFault(path) !== undefined) return undefined;
      const key = `${site.serial}/${path}`;
      const known = links.find(key);
      if (known !== undefined) return known;
      const visited = await findVisited(site.tenant, path);
      if (visited === undefined) return undefined;
      const { link } = visited;
      const apps = {
        ios_app: await findIosApp(site, link.ios_app_id),
        android_app: await findAndroidApp(site, link.android_app_id),
      };
      const isOwn = path === link.path || path === `${link.path}/`;
      const source = isOwn ? "address" : "short";
      const hosted = { ...visited, apps, source, answers: {} } as const;
      links.set(key, hosted);
      return hosted;
    },
  };
}

type Hostname = {
  readonly field: "subdomain" | "custom_domain";
  readonly value: string;
  readonly isSecond: boolean;
};

function readHostname(hostname: string, { linkOrigin, secondOrigin }: SitesOptions): Hostname {
  const second = secondOrigin && matchLinkHost(secondOrigin, hostname);
  if (second !== undefined) return { field: "subdomain", value: second, isSecond: true };
  const value = matchLinkHost(linkOrigin, hostname);
  if (value !== undefined) return { field: "subdomain", value, isSecond: false };
  return { field: "custom_domain", value: hostname, isSecond: false };
}

/** The apps of a site, each read once: a site ends when they change. */
function createAppFinder<App>({ find }: Pick<AppStore<App, never>, "find">) {
  const appsOfSites = new WeakMap<Site, Map<string, App>>();
  return async (site: Site, id: string | null): Promise<App | undefined> => {
    if (id === null) return undefined;
    const apps = appsOfSites.get(site) ?? new Map<string, App>();
    appsOfSites.set(site, apps);
    const app = apps.get(id) ?? (await find(site.tenant, id));
    if (app !== undefined) apps.set(id, app);
    return app;
  };
}
