import type { AndroidApp, IosApp } from "../contract/apps.ts";
import type { Awaitable } from "../contract/awaitable.ts";
import type { Link } from "../contract/links.ts";
import { dropEndSlashes, findPathFault } from "../contract/rules/link-path.ts";
import type { Source } from "../stats/visit.ts";
import { androidAppStore, iosAppStore } from "../store/apps.ts";
import { findVisited } from "../store/links.ts";
import { createRecentCaches, type RecentCache } from "./recent-cache.ts";
import type { Site } from "./sites.ts";

/** Where a link is visited. */
export type Place = { readonly site: Site; readonly path: string };

/** A link with the apps on it. */
export type HostedLink = {
  readonly link: Link;
  /** What the path that was visited stands for beside the link. */
  readonly query: string;
  /** By which of its addresses the link was visited. */
  readonly source: Extract<Source, "address" | "short">;
  readonly apps: {
    readonly ios_app: IosApp | undefined;
    readonly android_app: AndroidApp | undefined;
  };
};

const mostLinks = 100_000;

export type HostedLinks = ReturnType<typeof createHostedLinks>;

/** The links of sites, cached as long as the site: any change of a project makes another site. */
export function createHostedLinks() {
  const caches = createRecentCaches<HostedLink>(mostLinks);
  const known = new WeakMap<Site, KnownOfSite>();

  function findKnown(site: Site): KnownOfSite {
    const own = known.get(site) ?? {
      links: caches.open(),
      findIosApp: keepFound((id) => iosAppStore.find(site.tenant, id)),
      findAndroidApp: keepFound((id) => androidAppStore.find(site.tenant, id)),
    };
    known.set(site, own);
    return own;
  }

  async function readLink({ site, path }: Place): Promise<HostedLink | undefined> {
    if (findPathFault(path) !== undefined) return undefined;
    const { links, findIosApp, findAndroidApp } = findKnown(site);
    const found = await findVisited(site.tenant, path);
    if (found === undefined) return undefined;
    const { link, query } = found;
    const apps = {
      ios_app: await findIosApp(link.ios_app_id),
      android_app: await findAndroidApp(link.android_app_id),
    };
    const source = path === link.path ? "address" : "short";
    const hosted = { link, query, source, apps } as const;
    // A copy, because a part of the request's address keeps all of it in memory.
    links.set(Buffer.from(path).toString(), hosted);
    return hosted;
  }

  return {
    findLink: ({ site, path: visited }: Place): Awaitable<HostedLink | undefined> => {
      const path = dropEndSlashes(visited);
      return findKnown(site).links.find(path) ?? readLink({ site, path });
    },
  };
}

/** It ends with its site, and so when anything in it changes. */
type KnownOfSite = {
  readonly links: RecentCache<HostedLink>;
  readonly findIosApp: (id: string | null) => Promise<IosApp | undefined>;
  readonly findAndroidApp: (id: string | null) => Promise<AndroidApp | undefined>;
};

/** Many links have the same app: all of them share one record. */
function keepFound<Row>(read: (id: string) => Promise<Row | undefined>) {
  const rows = new Map<string, Row>();
  return async (id: string | null): Promise<Row | undefined> => {
    if (id === null) return undefined;
    const row = rows.get(id) ?? (await read(id));
    if (row !== undefined) rows.set(id, row);
    return row;
  };
}
