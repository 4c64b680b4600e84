import type { ReadLink } from "../contract/links.ts";
import { addressFields } from "../contract/rules/link-rules.ts";
import { isOwnLinkAddress } from "../contract/rules/link-address.ts";
import { normalizeForSearch } from "../contract/rules/link-path.ts";
import {
  decideVisit,
  readDestination,
  type Platform,
  type VisitedApps,
} from "../visit/decide-visit.ts";
import type { Search } from "./findings.ts";

/**
 * Links from which visitors come back to where they were, by way of other links of the project or
 * without, and those that lead there: their visitors arrive nowhere. Each of them leads to an
 * address of the project's own, so that no others are kept.
 */
export function createLoopSearch(linkHost: string | undefined): Search {
  const kept: Kept[] = [];
  return {
    add: (link, apps) => {
      if (!addressFields.some((field) => isOwnLinkAddress(link[field] ?? "", linkHost))) return;
      const next = platforms.map((platform) => readNext(link, apps, platform, linkHost));
      const paths = [link.path, link.shortened_path].flatMap((path) => path ?? []);
      kept.push({ id: link.id, paths: paths.map(normalizeForSearch), next });
    },
    list: () => {
      const byPath = new Map(kept.flatMap((link) => link.paths.map((path) => [path, link])));
      const lost = platforms.map((_, place) => findLost(kept, place, byPath));
      const found = kept.filter((link) => lost.some((links) => links.has(link)));
      return found.map(({ id }) => ({ code: "loop", id }));
    },
  };
}

const platforms = ["ios", "android", "desktop"] as const satisfies readonly Platform[];

/** A link that leads to another of the project, or to itself. */
type Kept = {
  readonly id: string;
  readonly paths: readonly string[];
  /** The path to which it leads on each of the platforms; undefined is elsewhere. */
  readonly next: readonly (string | undefined)[];
};

function readNext(
  link: ReadLink,
  apps: VisitedApps,
  platform: Platform,
  linkHost: string | undefined,
): string | undefined {
  const { to = "" } = readDestination(decideVisit(link, apps, { platform })) ?? {};
  return isOwnLinkAddress(to, linkHost) ? normalizeForSearch(new URL(to).pathname) : undefined;
}

/** Each link is walked over once, for the ways of many links end in the same one. */
function findLost(
  links: readonly Kept[],
  place: number,
  byPath: ReadonlyMap<string, Kept>,
): ReadonlySet<Kept> {
  const lost = new Set<Kept>();
  const done = new Set<Kept>();
  for (const start of links) {
    const way = new Set<Kept>();
    let link: Kept | undefined = start;
    while (link !== undefined && !done.has(link) && !way.has(link)) {
      way.add(link);
      link = byPath.get(link.next[place] ?? "");
    }
    const isLost = link !== undefined && (way.has(link) || lost.has(link));
    for (const passed of way) {
      done.add(passed);
      if (isLost) lost.add(passed);
    }
  }
  return lost;
}
