import {
  findAddressGroup,
  matchNetworks,
  normalizeAddress,
  readFamily,
  listNetworks,
} from "./ip-address.ts";
import { isPublicAddress } from "./public-address.ts";

/**
 * An address by which a phone may be known again for some minutes, or undefined: one of a private
 * network or of a carrier's (RFC 6598) is everybody's, and so is one of those behind which carriers
 * and iCloud Private Relay are known to put their customers, thousands at a time.
 */
export function findPlace(text: string | undefined): Place | undefined {
  const address = normalizeAddress(text ?? "");
  if (address === undefined || !isPublicAddress(address) || isShared(address)) return undefined;
  return { group: findAddressGroup(address), family: readFamily(address) };
}

type Place = { readonly group: string; readonly family: "ipv4" | "ipv6" };

const isShared = matchNetworks(
  listNetworks(
    // Private Relay leaves by Akamai, Cloudflare and Fastly.
    "172.224.0.0/12 104.28.0.0/16 146.75.0.0/16 140.248.0.0/16",
    "2a02:26f7::/32 2606:54c0::/32 2a09:bac0::/29 2a04:4e41::/32",
    // Mobile networks of the United States have IPv4 by such alone.
    "107.64.0.0/10 166.128.0.0/9 172.32.0.0/11 174.192.0.0/10",
  ),
);
