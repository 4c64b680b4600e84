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

/**
 * What is known to be shared. Which other addresses a carrier puts its customers behind, no list
 * tells: of them a phone is known again as if it were alone, as far as others that visit from there
 * do not show that it is not.
 */
const isShared = matchNetworks(
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
