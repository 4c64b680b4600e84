import type { AndroidApp, IosApp } from "../contract/apps.ts";
import type { Awaitable } from "../contract/waiting.ts";
import type { Link } from "../contract/links.ts";
import { dropEndSlashes, findPathFault } from "../contract/rules/link-path.ts";
import type { VisitSource } from "../stats/visit.ts";
import { androidAppStore, iosAppStore } from "../store/apps.ts";
import { createCache, type Cache } from "../store/cache.ts";
import { findVisited } from "../store/links.ts";
import type { Tenant } from "../store/tables.ts";
import type { Site } from "./sites.ts";

/** Finds the link that a visitor opens, with its apps, and caches it. */

export type LinkLocation = { readonly site: Site; readonly path: string };

/** A link with its apps, and the kind of path that the visitor used. */
export type HostedLink = {
  readonly link: Link;
  /** The query that the visited short path adds. Usually empty. */
  readonly query: string;
  /** Whether the visitor used the link's own URL or a short URL. */
  readonly source: Extract<VisitSource, "address" | "short">;
  readonly apps: {
    readonly ios_app: IosApp | undefined;
    readonly android_app: AndroidApp | undefined;
  };
};

const mostLinks = 100_000;
const mostApps = 1000;

export type HostedLinks = ReturnType<typeof createHostedLinks>;

/**
 * Each write to a project's links, apps or templates increases its `generation`, so its site gets a
 * new serial number. Cache entries are found only by the current serial number, so outdated ones
 * are never read.
 */
export function createHostedLinks() {
  const links = createCache<HostedLink>(mostLinks);
  const iosApps = createCache<IosApp>(mostApps);
  const androidApps = createCache<AndroidApp>(mostApps);

  async function readLink(
    key: string,
    { site, path }: LinkLocation,
  ): Promise<HostedLink | undefined> {
    if (findPathFault(path) !== undefined) return undefined;
    const found = await findVisited(site.tenant, path);
    if (found === undefined) return undefined;
    const { link, query } = found;
    const apps = {
      ios_app: await findApp(iosApps, iosAppStore, site, link.ios_app_id),
      android_app: await findApp(androidApps, androidAppStore, site, link.android_app_id),
    };
    const source = path === link.path ? "address" : "short";
    const hosted = { link, query, source, apps } as const;
    // A copy, because a substring would keep the whole URL of the request in memory.
    links.set(Buffer.from(key).toString(), hosted);
    return hosted;
  }

  return {
    findLink: ({ site, path: visited }: LinkLocation): Awaitable<HostedLink | undefined> => {
      const path = dropEndSlashes(visited);
      const key = `${site.serial} ${path}`;
      return links.find(key) ?? readLink(key, { site, path });
    },
  };
}

/** Finds an app and caches it. All links of the app then share one object. */
async function findApp<App>(
  cache: Cache<App>,
  apps: { readonly find: (tenant: Tenant, id: string) => Promise<App | undefined> },
  { serial, tenant }: Site,
  id: string | null,
): Promise<App | undefined> {
  if (id === null) return undefined;
  const key = `${serial} ${id}`;
  const app = cache.find(key) ?? (await apps.find(tenant, id));
  if (app !== undefined) cache.set(key, app);
  return app;
}
