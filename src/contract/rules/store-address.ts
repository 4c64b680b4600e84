import { findAddressDamage, findWebAddressFault, readPlainHost, readUrl } from "./web-address.ts";

/**
 * Addresses that open an app store directly. Only the fallback of that platform may use one,
 * because other visitors' browsers cannot open it.
 */
type StoreScheme = {
  readonly field: "android_fallback_url" | "ios_fallback_url";
  readonly kind: "play_store" | "app_store";
  /** The host of the store's web pages. Lists of allowed hosts use it to name the store. */
  readonly host: string;
  /** How the store's addresses start, for messages. */
  readonly name: string;
  readonly scheme: RegExp;
  readonly pattern: RegExp;
  /** What the store's addresses are called, for messages. */
  readonly page: string;
};

const stores: readonly StoreScheme[] = [
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
    // The store app opens any host in the address, so the host must be Apple's.
    pattern: /^itms-appss?:\/\/(?:[a-z0-9-]+\.)*apple\.com(?:[/?]|$)/i,
    page: "an App Store address",
  },
];

/** The store that an address opens directly, or undefined for other addresses. */
export function readStore(address: string): StoreScheme | undefined {
  const store = findStoreOf(address);
  return store !== undefined && findStoreFault(address, store) === undefined ? store : undefined;
}

/** The fault of an address in a field of a link, as the end of a sentence, or undefined. */
export function findAddressFault(field: string, address: string): string | undefined {
  const store = findStoreOf(address);
  if (store === undefined) return findWebAddressFault(address);
  if (store.field === field) return findStoreFault(address, store);
  return `must be an http or https address (${store.name} is for ${store.field})`;
}

/** The host and port that visitors are redirected to. For a store, this is its web host. */
export function readDestinationHost(address: string): string | undefined {
  return readPlainHost(address) ?? readStore(address)?.host ?? readUrl(address)?.host;
}

/** Whether an address opens a store, directly or through its web page. */
export function isStoreAddress(address: string): boolean {
  return findStoreKind(address) !== undefined;
}

/** The store that an address opens, directly or through its web page; else undefined. */
export function findStoreKind(address: string): StoreScheme["kind"] | undefined {
  return kindsByHost.get(readDestinationHost(address) ?? "");
}

const kindsByHost: ReadonlyMap<string, StoreScheme["kind"]> = new Map([
  ...stores.map(({ host, kind }) => [host, kind] as const),
  ["itunes.apple.com", "app_store"],
]);

function findStoreOf(address: string): StoreScheme | undefined {
  return stores.find(({ scheme }) => scheme.test(address));
}

function findStoreFault(address: string, { pattern, page }: StoreScheme): string | undefined {
  const damage = findAddressDamage(address);
  if (damage !== undefined) return damage;
  return pattern.test(address) ? undefined : `must be ${page}`;
}
