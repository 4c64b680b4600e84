import { findAddressGroup, matchNetworks, normalizeAddress, listNetworks } from "./ip-address.ts";
import { isPublicAddress } from "./public-address.ts";

/**
 * The address of a client in a comparable form: IPv4 as it is, IPv6 by its /64. Undefined if the
 * text is not an address.
 */
export function findClientPlace(text: string | undefined): ClientPlace | undefined {
  const address = normalizeAddress(text ?? "");
  if (address === undefined) return undefined;
  const isShared = !isPublicAddress(address) || isKnownAsShared(address);
  return { group: findAddressGroup(address), isShared };
}

export type ClientPlace = {
  readonly group: string;
  /**
   * Whether many people use this address at the same time: private networks, carrier NAT (RFC
   * 6598), and the exit addresses of carriers and iCloud Private Relay.
   */
  readonly isShared: boolean;
};

/** Known shared networks. No list contains the other addresses that carriers share. */
const isKnownAsShared = matchNetworks(
  listNetworks(
    // The networks of all 13,581 prefixes in Apple's list of Private Relay exits,
    // https://mask-api.icloud.com/egress-ip-ranges.csv (copied on 13 April 2026).
    "104.28.0.0/16 140.248.0.0/16 146.75.0.0/16 172.224.0.0/15 172.226.0.0/16",
    "2606:54c0::/32 2606:54c3::/32 2a02:26f7::/32 2a04:4e41::/32 2a09:bac2::/31",
    // Registered at ARIN as ATT-MOBILITY-LLC, TMO9 and WIRELESSDATANETWORK. The last two are routed
    // only by the mobile networks of T-Mobile (AS21928) and Verizon (AS6167, AS22394).
    "107.64.0.0/10 172.32.0.0/11 174.192.0.0/10",
    // Almost only routed by carriers, mainly AT&T Mobility (AS20057) and Verizon Wireless
    // (RouteViews and DB-IP, 17 June 2026).
    "166.128.0.0/9",
  ),
);
