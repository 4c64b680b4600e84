import type { AndroidApp, IosApp } from "../contract/apps.ts";
import type { Awaitable } from "../contract/awaitable.ts";
import type { Link } from "../contract/links.ts";
import { dropEndSlashes, findPathFault } from "../contract/rules/link-path.ts";
import type { VisitSource } from "../stats/visit.ts";
import { androidAppStore, iosAppStore } from "../store/apps.ts";
import { createCache, type Cache } from "../store/cache.ts";
import { findVisited } from "../store/links.ts";
import type { Tenant } from "../store/tables.ts";
import type { Site } from "./sites.ts";

/** Where a link is visited. */
export type Place = { readonly site: Site; readonly path: string };

/** A link with the apps on it. */
export type HostedLink = {
  readonly link: Link;
  /** What the path that was visited stands for beside the link. */
  readonly query: string;
  /** By which of its addresses the link was visited. */
  readonly source: Extract<VisitSource, "address" | "short">;
  readonly apps: {
    readonly ios_app: IosApp | undefined;
    readonly android_app: AndroidApp | undefined;
  };
};

const mostLinks = 100_000;
const mostApps = 1000;

export type HostedLinks = ReturnType<typeof createHostedLinks>;

/** The links of sites. Any change of a project makes another site, with another serial number. */
export function createHostedLinks() {
  const links = createCache<HostedLink>(mostLinks);
  const iosApps = createCache<IosApp>(mostApps);
  const androidApps = createCache<AndroidApp>(mostApps);

  async function readLink(key: string, { site, path }: Place): Promise<HostedLink | undefined> {
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
    // A copy, because a part of the request's address keeps all of it in memory.
    links.set(Buffer.from(key).toString(), hosted);
    return hosted;
  }

  return {
    findLink: ({ site, path: visited }: Place): Awaitable<HostedLink | undefined> => {
      const path = dropEndSlashes(visited);
      const key = `${site.serial} ${path}`;
      return links.find(key) ?? readLink(key, { site, path });
    },
  };
}

/** Many links have the same app: all of them share one record. */
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
