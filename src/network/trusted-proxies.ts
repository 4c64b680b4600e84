import {
  loopbackNetworks,
  matchNetworks,
  normalizeAddress,
  readFamily,
  type Network,
} from "./ip-address.ts";

/** Which proxies in front of this server are believed what they say of their clients. */

export type TrustedProxies =
  /** So many, one behind the other. */
  { readonly hops: number } | { readonly networks: readonly Network[] };

/** Whether the machine at this address is one of them; hop 0 is the one that is connected to us. */
export type Trusts = (address: string, hop: number) => boolean;

/** `1`, or networks: `10.0.0.0/8, fd00::/8, loopback`. Undefined for what is neither. */
export function readTrustedProxies(text: string): TrustedProxies | undefined {
  const words = text.split(",").map((word) => word.trim());
  if (/^[1-9]\d?$/.test(text.trim())) return { hops: Number(text) };
  const networks = words.flatMap<Network | undefined>((word) =>
    word === "loopback" ? loopbackNetworks : [readNetwork(word)],
  );
  const known = networks.filter((network) => network !== undefined);
  return known.length === networks.length ? { networks: known } : undefined;
}

/** Without any, nobody is believed. */
export function createTrust(proxies: TrustedProxies | undefined): Trusts {
  if (proxies === undefined) return () => false;
  if ("hops" in proxies) return (_, hop) => hop < proxies.hops;
  return matchNetworks(proxies.networks);
}

/** Behind "believed": by whom. */
export function describeTrustedProxies(proxies: TrustedProxies): string {
  if ("hops" in proxies) return proxies.hops === 1 ? "of one proxy" : `of ${proxies.hops} proxies`;
  return `of ${proxies.networks.map(({ address, prefix }) => `${address}/${prefix}`).join(", ")}`;
}

/** An address alone is a network of one. A prefix of 0 would believe everybody. */
function readNetwork(word: string): Network | undefined {
  const [, text = "", bits] = /^([^/]+)(?:\/([1-9]\d{0,2}))?$/.exec(word) ?? [];
  const address = normalizeAddress(text);
  // IPv4 within IPv6 has a prefix of its own, which would be misread here.
  if (address === undefined || (text.includes(":") && !address.includes(":"))) return undefined;
  const most = readFamily(address) === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? most : Number(bits);
  return prefix <= most ? { address, prefix } : undefined;
}
