import { findWebAddressFault } from "../contract/rules/web-address.ts";
import {
  dropBrackets,
  isLoopbackHost,
  matchNetworks,
  normalizeAddress,
  type Network,
} from "../network/ip-address.ts";
import { noPublicHost, resolveHost, type Reach } from "../network/hosts/pinned-connection.ts";
import { isPublicAddress } from "../network/public-address.ts";

/** Limits the URLs of webhooks to public servers and to networks that the operator allows. */

export function reachReceivers(networks: readonly Network[]): Reach {
  const isAllowed = matchNetworks(networks);
  const isPublic = (text: string) => {
    const address = normalizeAddress(text);
    return address !== undefined && (isPublicAddress(address) || isAllowed(address));
  };
  return { resolve: resolveHost, isPublic };
}

/**
 * Returns the fault of a new webhook's URL, as the end of a sentence. The IP addresses of a host
 * name can change, so they are only checked at each attempt.
 */
export function findUrlFault(url: string, networks: readonly Network[]): string | undefined {
  const fault = findWebAddressFault(url);
  if (fault !== undefined) return fault;
  const { hash, hostname } = new URL(url);
  if (hash !== "") return "can't have a fragment";
  const addresses = readAddresses(hostname);
  if (addresses?.some(reachReceivers(networks).isPublic) === false) {
    return `points to ${hostname}, which is not on the public internet. ${nameNetwork}`;
  }
  // The host name may belong to an allowed network.
  if (addresses === undefined && networks.length > 0) return undefined;
  return findPublicFault(new URL(url), addresses);
}

/**
 * Finds the fault of a URL outside of the allowed networks, where plain HTTP and unusual ports are
 * rejected.
 */
export function findPublicFault(
  { protocol, port }: URL,
  addresses: readonly string[] | undefined,
): string | undefined {
  if (addresses?.some(isPublicAddress) === false) return undefined;
  if (protocol !== "https:") return plainHttp;
  const isUsual = port === "" || Number(port) >= 1024;
  return isUsual ? undefined : "can't have a port below 1024 other than 443";
}

/**
 * Describes how to fix the fault with a setting, without a final period. Returns undefined for
 * other faults.
 */
export function findFix(fault: string | null): string | undefined {
  if (fault !== noPublicHost) return undefined;
  return `${nameNetwork}; for a public receiver, check its DNS record`;
}

const nameNetwork =
  "Set WAYPOST_WEBHOOK_PRIVATE to the receiver's network, for waypost serve and all other commands";

const plainHttp =
  "must be an https address; plain http works only in networks listed in WAYPOST_WEBHOOK_PRIVATE";

/**
 * Returns the IP addresses in the URL. Returns undefined for a host name that needs a DNS lookup.
 */
function readAddresses(hostname: string): readonly string[] | undefined {
  const literal = normalizeAddress(dropBrackets(hostname));
  if (literal !== undefined) return [literal];
  return isLoopbackHost(hostname) ? ["127.0.0.1", "::1"] : undefined;
}
