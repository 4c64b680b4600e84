import { matchNetworks, type Network } from "./ip-address.ts";
import { readNetworks, writeNetworks } from "./read-networks.ts";

/** Which proxies in front of this server are believed what they say of their clients. */

export type TrustedProxies =
  /** So many, one behind the other. */
  { readonly hops: number } | { readonly networks: readonly Network[] };

/** Whether the machine at this address is one of them; hop 0 is the one that is connected to us. */
export type Trusts = (address: string, hop: number) => boolean;

/** `1`, or networks: `10.0.0.0/8, fd00::/8, loopback`. Undefined for what is neither. */
export function readTrustedProxies(text: string): TrustedProxies | undefined {
  if (/^[1-9]\d?$/.test(text.trim())) return { hops: Number(text) };
  const networks = readNetworks(text);
  return networks && { networks };
}

/** Without any, nobody is believed. */
export function createTrust(proxies: TrustedProxies | undefined): Trusts {
  if (proxies === undefined) return () => false;
  if ("hops" in proxies) return (_, hop) => hop < proxies.hops;
  return matchNetworks(proxies.networks);
}

/** Behind "believed": by whom. */
export function describeTrustedProxies(proxies: TrustedProxies): string {
  if ("hops" in proxies) return proxies.hops === 1 ? "one proxy" : `${proxies.hops} proxies`;
  return writeNetworks(proxies.networks);
}
