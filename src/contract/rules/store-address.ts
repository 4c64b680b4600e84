import { findAddressDamage, findWebAddressFault, readPlainHost, readUrl } from "./web-address.ts";

/**
 * Addresses that open a platform's own store, which the fallback of that platform alone may lead
 * to: other visitors' browsers do not know them.
 */
type Store = {
  readonly field: "android_fallback_url" | "ios_fallback_url";
  readonly kind: "play_store" | "app_store";
  /** The host of the store's web pages, by which lists of hosts name the store. */
  readonly host: string;
  /** How its addresses begin, for people. */
  readonly name: string;
  readonly scheme: RegExp;
  readonly pattern: RegExp;
  /** What its addresses are, for people. */
  readonly page: string;
};

const stores: readonly Store[] = [
  {
    field: "android_fallback_url",
    kind: "play_store",
    host: "play.google.com",
    name: "market:",
    scheme: /^market:/i,
    pattern: /^market:\/\/(?:details|search|dev|apps|launch)(?:[/?]|$)/i,
    page: "a Google Play address",
  },
  {
    field: "ios_fallback_url",
    kind: "app_store",
    host: "apps.apple.com",
    name: "itms-apps:",
    scheme: /^itms-appss?:/i,
    // What stands in the host's place is opened by the store itself: no stranger's page.
    pattern: /^itms-appss?:\/\/(?:[a-z0-9-]+\.)*apple\.com(?:[/?]|$)/i,
    page: "an App Store address",
  },
];

/** The store that an address opens without a web page; undefined for any other address. */
export function readStore(address: string): Store | undefined {
  const store = findStoreOf(address);
  return store !== undefined && findStoreFault(address, store) === undefined ? store : undefined;
}

/** What is wrong with an address for a field of a link, as the end of a sentence, or undefined. */
export function findAddressFault(field: string, address: string): string | undefined {
  const store = findStoreOf(address);
  if (store === undefined) return findWebAddressFault(address);
  if (store.field === field) return findStoreFault(address, store);
  return `must be an http or https address (${store.name} is for ${store.field})`;
}

/** The host to which a visitor is led, with its port; of a store, the host of its web pages. */
export function readDestinationHost(address: string): string | undefined {
  return readPlainHost(address) ?? readStore(address)?.host ?? readUrl(address)?.host;
}

/** Whether an address leads into a store, by its web page or without. */
export function isStoreAddress(address: string): boolean {
  return findStoreKind(address) !== undefined;
}

/** Which store an address leads into, by its web page or without; undefined for any other one. */
export function findStoreKind(address: string): Store["kind"] | undefined {
  return kindsByHost.get(readDestinationHost(address) ?? "");
}

const kindsByHost: ReadonlyMap<string, Store["kind"]> = new Map([
  ...stores.map(({ host, kind }) => [host, kind] as const),
  ["itunes.apple.com", "app_store"],
]);

function findStoreOf(address: string): Store | undefined {
  return stores.find(({ scheme }) => scheme.test(address));
}

function findStoreFault(address: string, { pattern, page }: Store): string | undefined {
  const damage = findAddressDamage(address);
  if (damage !== undefined) return damage;
  return pattern.test(address) ? undefined : `must be ${page}`;
}
