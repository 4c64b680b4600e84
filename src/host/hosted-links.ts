import type { AndroidApp, IosApp } from "../contract/apps.ts";
import { andThen, type Awaitable } from "../contract/awaitable.ts";
import { dropEndSlashes } from "../contract/rules/link-path.ts";
import type { Source } from "../stats/visit.ts";
import { androidAppStore, iosAppStore } from "../store/apps.ts";
import { findAllVisited, type VisitedAt } from "../store/find-visited.ts";
import { findLinkTexts, type LeadingLink, type LinkTexts } from "../store/leading-link.ts";
import type { Platform } from "../visit/decide-visit.ts";
import { gatherAsked } from "./gather-asked.ts";
import { createRecentCaches, type RecentCache } from "./recent-cache.ts";
import type { Site } from "./sites.ts";

/** Where a link is visited. */
export type Place = {
  readonly site: Site;
  readonly path: string;
  /**
   * The path behind a slash, by which it is cached. As most ask for it just so, it is what came: a
   * text that is put together takes twice as long to be found.
   */
  readonly key: string;
};

/** By which of its addresses a link was visited. */
type VisitedBy = Extract<Source, "address" | "short">;

/** A link with the apps on it. */
export type HostedLink = {
  readonly link: LeadingLink;
  /** What the path that was visited stands for beside the link. */
  readonly query: string;
  readonly redirects: Redirects;
  readonly apps: {
    readonly ios_app: IosApp | undefined;
    readonly android_app: AndroidApp | undefined;
  };
  /** Read when its page is first shown. */
  texts: LinkTexts | undefined;
};

/** Where a link redirects, for those platforms whose visitors it has redirected before. */
export type Redirects = { readonly linkId: string; readonly source: VisitedBy } & {
  [Name in Platform]: string | undefined;
};

/** Where one leads takes less than half a kB, and all of a link less than 1 kB. */
const mostLinks = 100_000;

export type HostedLinks = ReturnType<typeof createHostedLinks>;

/**
 * The links of sites, cached while their site is: whatever changes them makes another site of it.
 * Of links that only redirect, which are most, no more is kept than where to.
 */
export function createHostedLinks() {
  const redirects = createRecentCaches<Redirects>(mostLinks);
  const links = createRecentCaches<HostedLink>(mostLinks);
  const known = new WeakMap<Site, KnownOfSite>();

  function findKnown(site: Site): KnownOfSite {
    const own = known.get(site);
    if (own !== undefined) return own;
    const { tenant } = site;
    const opened = {
      redirects: redirects.open(),
      links: links.open(),
      ask: openGathering(site),
      readTexts: shareReading((id) => findLinkTexts(tenant, id)),
      findIosApp: readOnce((id) => iosAppStore.find(tenant, id)),
      findAndroidApp: readOnce((id) => androidAppStore.find(tenant, id)),
    };
    known.set(site, opened);
    return opened;
  }

  /** Most apps are known, and then it is no promise. */
  function addApps({ site, path }: Place, { link, query }: Found): Awaitable<HostedLink> {
    const isOwn = path === link.path || path === `${link.path}/`;
    const source = isOwn ? "address" : "short";
    const { findIosApp, findAndroidApp } = findKnown(site);
    return andThen(findIosApp(link.ios_app_id), (ios_app) =>
      andThen(findAndroidApp(link.android_app_id), (android_app) => {
        const redirects = startRedirects(link.id, source);
        return { link, query, redirects, apps: { ios_app, android_app }, texts: undefined };
      }),
    );
  }

  return {
    /** Where a link is known to redirect; undefined where nobody has been redirected by it. */
    findRedirects: ({ site, key }: Pick<Place, "site" | "key">): Redirects | undefined =>
      findKnown(site).redirects.find(key),

    keepRedirect: ({ site, key }: Place, own: Redirects, platform: Platform, to: string): void => {
      const kept = findKnown(site).redirects;
      const before = kept.find(key);
      if (before === undefined) kept.set(key, own);
      (before ?? own)[platform] = to;
    },

    /** Its path must be one that a link can have. */
    findLink: (place: Place): Awaitable<HostedLink | undefined> => {
      const { site, key } = place;
      const own = findKnown(site);
      return own.links.find(key) ?? own.ask(key, (found) => found && addApps(place, found));
    },

    /** Undefined where it was deleted a moment ago. */
    findTexts: ({ site }: Place, hosted: HostedLink): Awaitable<LinkTexts | undefined> =>
      hosted.texts ??
      andThen(findKnown(site).readTexts(hosted.link.id), (texts) => (hosted.texts = texts)),

    keepLink: ({ site, key }: Place, hosted: HostedLink): void =>
      findKnown(site).links.set(key, hosted),
  };
}

/** Written out: an object that another one is spread into takes several times the memory. */
function startRedirects(linkId: string, source: VisitedBy): Redirects {
  return { linkId, source, desktop: undefined, ios: undefined, android: undefined };
}

type Found = VisitedAt<LeadingLink>;

/** It ends with its site, and so when anything in it changes. */
type KnownOfSite = {
  readonly redirects: RecentCache<Redirects>;
  readonly links: RecentCache<HostedLink>;
  readonly ask: ReturnType<typeof openGathering>;
  readonly readTexts: (linkId: string) => Awaitable<LinkTexts | undefined>;
  readonly findIosApp: (id: string | null) => Awaitable<IosApp | undefined>;
  readonly findAndroidApp: (id: string | null) => Awaitable<AndroidApp | undefined>;
};

function openGathering({ tenant }: Site) {
  return gatherAsked<Found | undefined, HostedLink | undefined>((keys) =>
    findAllVisited(
      tenant,
      keys.map((key) => dropEndSlashes(key.slice(1))),
    ),
  );
}

type Read<Row> = (id: string) => Awaitable<Row | undefined>;

/** What is there is read once. */
function readOnce<Row>(read: Read<Row>): (id: string | null) => Awaitable<Row | undefined> {
  const rows = new Map<string, Row>();
  const share = shareReading(read);
  return (id) => {
    if (id === null) return undefined;
    const known = rows.get(id);
    if (known !== undefined) return known;
    return andThen(share(id), (row) => {
      if (row !== undefined) rows.set(id, row);
      return row;
    });
  };
}

/** What is asked for while it is being read is not read again. */
function shareReading<Row>(read: Read<Row>): Read<Row> {
  const readings = new Map<string, Promise<Row | undefined>>();
  return (id) => {
    const known = readings.get(id);
    if (known !== undefined) return known;
    const reading = read(id);
    if (!(reading instanceof Promise)) return reading;
    const shared = reading.finally(() => readings.delete(id));
    readings.set(id, shared);
    return shared;
  };
}
