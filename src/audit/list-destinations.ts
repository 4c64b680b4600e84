import type { ReadLink } from "../contract/links.ts";
import { readStore } from "../contract/rules/store-address.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import { quote } from "../text/show-hidden.ts";
import type { Found } from "./findings.ts";

/** The hosts that links lead to, each with some of the addresses there: for asking them. */

export type DestinationList = {
  readonly addLinks: (links: readonly ReadLink[]) => void;
  /** Those to which most links lead come first. */
  readonly list: () => readonly ListedHost[];
  /** What became of the addresses that were asked, as findings of their links. */
  readonly judge: (outcomes: ReadonlyMap<string, AskedOutcome>) => readonly Found[];
};

type ListedHost = { readonly host: string; readonly addresses: readonly string[] };

/** As src/network/hosts tells of it. */
type AskedOutcome =
  | { readonly kind: "reached" }
  | { readonly kind: "error_status"; readonly status: number }
  | { readonly kind: "redirects_elsewhere"; readonly host: string }
  | { readonly kind: "unreachable"; readonly reason: string };

type Host = { readonly host: string; count: number; readonly ids: Map<string, string[]> };

/** Of more hosts none is remembered; of a host, no more addresses are asked in one call. */
const mostHosts = 2000;
const mostAddresses = 10;
const mostTold = 3;
const fields = ["url", "ios_fallback_url", "android_fallback_url"] as const;

export function createDestinationList(): DestinationList {
  const hosts = new Map<string, Host>();
  return {
    addLinks: (links) => {
      for (const link of links) for (const address of listAddresses(link)) add(address, link.id);
    },
    list: () =>
      [...hosts.values()]
        .toSorted((one, other) => other.count - one.count || (one.host < other.host ? -1 : 1))
        .map(({ host, ids }) => ({ host, addresses: [...ids.keys()] })),
    judge: (outcomes) => {
      const told = new Map<Found["code"], Set<string>>();
      const found = [...hosts.values()].flatMap(({ host, ids }) =>
        [...ids].flatMap(([address, linkIds]) => {
          const outcome = outcomes.get(address);
          if (outcome === undefined || outcome.kind === "reached") return [];
          const code = `destination_${outcome.kind}` as const;
          const words = told.get(code) ?? new Set();
          told.set(code, words.add(`${quote(host)} ${describeOutcome(outcome)}`));
          return linkIds.map((id) => ({ code, id }));
        }),
      );
      return found.map((one) => ({ ...one, detail: { rule: writeTold(told.get(one.code)) } }));
    },
  };

  function add(address: string, id: string): void {
    const host = readUrl(address)?.host ?? "";
    const known = hosts.get(host) ?? { host, count: 0, ids: new Map<string, string[]>() };
    if (host === "" || (!hosts.has(host) && hosts.size >= mostHosts)) return;
    hosts.set(host, known);
    known.count += 1;
    const ids = known.ids.get(address);
    if (ids !== undefined) ids.push(id);
    else if (known.ids.size < mostAddresses) known.ids.set(address, [id]);
  }
}

function listAddresses(link: ReadLink): readonly string[] {
  const addresses = fields.flatMap((field) => link[field] ?? []);
  return [...new Set(addresses)].filter((address) => address !== "" && !readStore(address));
}

function describeOutcome(outcome: Exclude<AskedOutcome, { readonly kind: "reached" }>): string {
  if (outcome.kind === "error_status") return `answers ${outcome.status}`;
  return outcome.kind === "unreachable" ? `(${outcome.reason})` : `leads to ${quote(outcome.host)}`;
}

function writeTold(words: ReadonlySet<string> = new Set()): string {
  const all = [...words];
  const more = all.length - mostTold;
  const shown = all.slice(0, mostTold).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}
