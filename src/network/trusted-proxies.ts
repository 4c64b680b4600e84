import { matchNetworks, type Network } from "./ip-address.ts";
import { readNetworks, writeNetworks } from "./read-networks.ts";

/** The proxies whose `X-Forwarded-For` header is trusted. */

export type TrustedProxies =
  /** This many proxies in a row. */
  { readonly hops: number } | { readonly networks: readonly Network[] };

/**
 * Whether the machine at this address is trusted. Hop 0 is the machine that is connected to this
 * process.
 */
export type Trusts = (address: string, hop: number) => boolean;

/** Reads `1`, or networks such as `10.0.0.0/8, fd00::/8, loopback`. Undefined if it is neither. */
export function readTrustedProxies(text: string): TrustedProxies | undefined {
  if (/^[1-9]\d?$/.test(text.trim())) return { hops: Number(text) };
  const networks = readNetworks(text);
  return networks && { networks };
}

/** Without trusted proxies, nothing is trusted. */
export function createTrust(proxies: TrustedProxies | undefined): Trusts {
  if (proxies === undefined) return () => false;
  if ("hops" in proxies) return (_, hop) => hop < proxies.hops;
  return matchNetworks(proxies.networks);
}

/** Worded as the end of "is trusted from". */
export function describeTrustedProxies(proxies: TrustedProxies): string {
  if ("hops" in proxies) return proxies.hops === 1 ? "one proxy" : `${proxies.hops} proxies`;
  return writeNetworks(proxies.networks);
}
