import type { ReadLink } from "../contract/links.ts";
import { isStoreAddress } from "../contract/rules/store-address.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import type { Found, Search } from "./findings.ts";
import { createTwinSearch } from "./find-twin-host.ts";

/**
 * Hosts that few links lead to, and that are written almost as one that many lead to: most likely
 * a slip of the pen, or somebody's wish to be taken for the other.
 */
export function createHostSearch(linkHost: string | undefined): Search {
  const hosts = new Map<string, Host>();
  return {
    add: (link) => {
      for (const { field, name } of listHosts(link)) {
        const host = hosts.get(name) ?? { name, count: 0, places: [] };
        hosts.set(name, host);
        host.count += 1;
        const named = { id: link.id, path: link.path };
        if (host.places.length < mostRare) host.places.push({ link: named, field });
      }
    },
    list: () => {
      const common = [...hosts.values()]
        .filter(({ count }) => count >= leastCommon)
        .toSorted((one, other) => other.count - one.count)
        .slice(0, mostCommon);
      const own = linkHost === undefined ? [] : [new URL(linkHost).hostname];
      const findTwin = createTwinSearch([...own, ...common.map(({ name }) => name)]);
      const rare = [...hosts.values()]
        .filter(({ count }) => count <= mostRare)
        .toSorted((one, other) => (one.name < other.name ? -1 : 1));
      const pairs = rare.flatMap((host) => {
        const meant = findTwin(host.name);
        const most = (hosts.get(meant ?? "")?.count ?? Infinity) / timesRarer;
        return meant === undefined || host.count > most ? [] : [{ host, meant }];
      });
      return pairs.slice(0, mostPairs).flatMap(({ host, meant }) => listPlaces(host, meant));
    },
  };
}

type Host = {
  readonly name: string;
  count: number;
  readonly places: Place[];
};

/** Of the link only what names it is kept. */
type Place = { readonly link: ReadLink; readonly field: (typeof fields)[number] };

const fields = ["url", "ios_fallback_url", "android_fallback_url"] as const;

/** Other hosts are compared with these. */
const mostCommon = 200;
const leastCommon = 3;
/** Nobody makes the same slip more often. */
const mostRare = 100;
const timesRarer = 3;
/** Each of them is a finding of its own. */
const mostPairs = 5;

function listHosts(link: ReadLink) {
  return fields.flatMap((field) => {
    const address = link[field];
    if (!address || isStoreAddress(address)) return [];
    const name = readUrl(address)?.hostname ?? "";
    return name === "" ? [] : [{ field, name }];
  });
}

function listPlaces({ name: host, places }: Host, meant: string): readonly Found[] {
  return places.map(({ link, field }) => {
    return { code: "similar_host", id: link.id, link, field, detail: { host, meant } };
  });
}
