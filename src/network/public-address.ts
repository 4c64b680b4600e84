import { matchNetworks, normalizeAddress, readFamily, listNetworks } from "./ip-address.ts";

/**
 * Whether an address is on the public internet, so that a request to it cannot reach private
 * networks. The lists are IANA's special-purpose registries (RFC 6890). All other addresses are
 * treated as private.
 */
export function isPublicAddress(text: string): boolean {
  const address = normalizeAddress(text);
  if (address === undefined) return false;
  if (readFamily(address) === "ipv4") return !isSpecialIpv4(address);
  return isGlobalIpv6(address) && !isSpecialIpv6(address);
}

const isSpecialIpv4 = matchNetworks(
  listNetworks(
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24",
    "192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24",
    "224.0.0.0/4 240.0.0.0/4",
  ),
);

/** Other IPv6 addresses are private, belong to one machine, or translate to IPv4 (64:ff9b::). */
const isGlobalIpv6 = matchNetworks(listNetworks("2000::/3"));

/** Including Teredo and 6to4, which contain an IPv4 address that could be private. */
const isSpecialIpv6 = matchNetworks(listNetworks("2001::/23 2001:db8::/32 2002::/16 3fff::/20"));
