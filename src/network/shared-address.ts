import { findAddressGroup, matchNetworks, normalizeAddress, listNetworks } from "./ip-address.ts";
import { isPublicAddress } from "./public-address.ts";

/**
 * Where a client's requests come from, in the form that can be compared: an IPv4 address as it is,
 * an IPv6 address by its /64. Undefined for a text that is no address.
 */
export function findPlace(text: string | undefined): Place | undefined {
  const address = normalizeAddress(text ?? "");
  if (address === undefined) return undefined;
  const isShared = !isPublicAddress(address) || isKnownAsShared(address);
  return { group: findAddressGroup(address), isShared };
}

export type Place = {
  readonly group: string;
  /**
   * Whether many strangers have this address at the same time: private networks, RFC 6598, and the
   * addresses behind which carriers and iCloud Private Relay put their customers.
   */
  readonly isShared: boolean;
};

/** What is known to be shared. No list names the other addresses that carriers share. */
const isKnownAsShared = matchNetworks(
  listNetworks(
    // The networks of all 13,581 prefixes of Apple's list of where Private Relay comes out,
    // https://mask-api.icloud.com/egress-ip-ranges.csv (a copy of 13 April 2026).
    "104.28.0.0/16 140.248.0.0/16 146.75.0.0/16 172.224.0.0/15 172.226.0.0/16",
    "2606:54c0::/32 2606:54c3::/32 2a02:26f7::/32 2a04:4e41::/32 2a09:bac2::/31",
    // ARIN has them as ATT-MOBILITY-LLC, TMO9 and WIRELESSDATANETWORK; the last two are routed by
    // the mobile networks of T-Mobile (AS21928) and Verizon (AS6167, AS22394) alone.
    "107.64.0.0/10 172.32.0.0/11 174.192.0.0/10",
    // Nearly all that is routed of it is by carriers, AT&T Mobility (AS20057) and Verizon Wireless
    // before others: RouteViews and DB-IP, 17 June 2026.
    "166.128.0.0/9",
  ),
);
