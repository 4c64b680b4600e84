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

/** Which addresses webhooks may have: of the public internet, or of networks that are named. */

export function reachReceivers(networks: readonly Network[]): Reach {
  const isNamed = matchNetworks(networks);
  const isPublic = (text: string) => {
    const address = normalizeAddress(text);
    return address !== undefined && (isPublicAddress(address) || isNamed(address));
  };
  return { resolve: resolveHost, isPublic };
}

/**
 * What is wrong with the address of a new webhook, as the end of a sentence. A host name may have
 * other IP addresses at each attempt, so it is looked up only then.
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
  // A name may belong to a named network.
  if (addresses === undefined && networks.length > 0) return undefined;
  return findPublicFault(new URL(url), addresses);
}

/** Plain HTTP and ports of other services are for named networks only. */
export function findPublicFault(
  { protocol, port }: URL,
  addresses: readonly string[] | undefined,
): string | undefined {
  if (addresses?.some(isPublicAddress) === false) return undefined;
  if (protocol !== "https:") return plainHttp;
  const isUsual = port === "" || Number(port) >= 1024;
  return isUsual ? undefined : "can't have a port below 1024 other than 443";
}

/** How to fix this fault of an attempt by a setting, as a sentence without its full stop. */
export function findFix(fault: string | null): string | undefined {
  if (fault !== noPublicHost) return undefined;
  return `${nameNetwork}; for a public receiver, check its DNS record`;
}

const nameNetwork =
  "Set WAYPOST_WEBHOOK_PRIVATE to the receiver's network, for waypost serve and all other commands";

const plainHttp =
  "must be an https address; plain http works only in networks listed in WAYPOST_WEBHOOK_PRIVATE";

/** Undefined for a host name that has to be looked up. */
function readAddresses(hostname: string): readonly string[] | undefined {
  const literal = normalizeAddress(dropBrackets(hostname));
  if (literal !== undefined) return [literal];
  return isLoopbackHost(hostname) ? ["127.0.0.1", "::1"] : undefined;
}
