import { findAddressDamage, findWebAddressFault, readPlainHost, readUrl } from "./web-address.ts";

/** Recognizes and validates the URLs of app stores in links. */

/**
 * A URL scheme that opens an app store directly. Only the fallback URL of the store's platform may
 * use it, because browsers on other platforms cannot open it.
 */
type StoreScheme = {
  readonly field: "android_fallback_url" | "ios_fallback_url";
  readonly kind: "play_store" | "app_store";
  /** The store's web host. If it is an allowed destination, the store's scheme is allowed too. */
  readonly host: string;
  /** The scheme's name in messages, such as `market:`. */
  readonly name: string;
  readonly scheme: RegExp;
  readonly pattern: RegExp;
  /** The name for the store's URLs in messages, such as "an App Store address". */
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
    // The App Store app opens URLs with any host, so only Apple's hosts are accepted.
    pattern: /^itms-appss?:\/\/(?:[a-z0-9-]+\.)*apple\.com(?:[/?]|$)/i,
    page: "an App Store address",
  },
];

/** Returns the store whose custom scheme a URL uses, or undefined. */
export function readStore(address: string): StoreScheme | undefined {
  const store = findStoreOf(address);
  return store !== undefined && findStoreFault(address, store) === undefined ? store : undefined;
}

/** Returns the fault of a link field's URL, worded to complete a sentence, or undefined. */
export function findAddressFault(field: string, address: string): string | undefined {
  const store = findStoreOf(address);
  if (store === undefined) return findWebAddressFault(address);
  if (store.field === field) return findStoreFault(address, store);
  return `must be an http or https address (${store.name} is for ${store.field})`;
}

/**
 * Returns the host and port of a redirect's destination; for a store scheme, the store's web host.
 */
export function readDestinationHost(address: string): string | undefined {
  return readPlainHost(address) ?? readStore(address)?.host ?? readUrl(address)?.host;
}

/** Whether a URL opens a store, directly or through its web page. */
export function isStoreAddress(address: string): boolean {
  return findStoreKind(address) !== undefined;
}

/** Returns the store that a URL opens, directly or through its web page, or undefined. */
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
