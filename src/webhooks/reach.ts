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

/** Where webhooks may lead. */

/** The public internet, and the private networks that the operator has named. */
export function reachReceivers(networks: readonly Network[]): Reach {
  const isNamed = matchNetworks(networks);
  return {
    resolve: resolveHost,
    isPublic: (text) => {
      const address = normalizeAddress(text);
      if (address === undefined) return false;
      return isPublicAddress(address) || isNamed(address);
    },
  };
}

/**
 * What is wrong with a webhook's address, as the end of a sentence, before it is ever asked: all
 * that can be told without looking its name up, which may lead elsewhere at each attempt.
 */
export function findUrlFault(url: string, networks: readonly Network[]): string | undefined {
  const fault = findWebAddressFault(url);
  if (fault !== undefined) return fault;
  const { protocol, hash, hostname, port } = new URL(url);
  if (hash !== "") return "can't have a fragment";
  const addresses = readAddresses(hostname);
  const { isPublic } = reachReceivers(networks);
  if (addresses?.some(isPublic) === false) {
    return `points to ${hostname}, which is not on the public internet. ${whatNamesNetworks}`;
  }
  // A name may lead into a named network.
  const mayBeNamed = addresses === undefined || !addresses.some(isPublicAddress);
  if (networks.length > 0 && mayBeNamed) return undefined;
  if (protocol !== "https:") return plainHttp;
  return isUsualPort(port) ? undefined : "can't have a port below 1024 other than 443";
}

/**
 * What mends that an attempt ended so, as a sentence without its stop, where a setting does. Each
 * process has settings of its own: what one delivers, another may refuse.
 */
export function findMend(fault: string | null): string | undefined {
  return fault === noPublicHost ? checkName : undefined;
}

const whatNamesNetworks =
  "Set WAYPOST_WEBHOOK_PRIVATE to the receiver's network, for waypost serve and for other commands";

const checkName = `${whatNamesNetworks}; for a public receiver, check its DNS record`;

const plainHttp =
  "must be an https address; plain http works only in networks listed in WAYPOST_WEBHOOK_PRIVATE";

/** Where a host leads that needs no looking up; undefined of any other. */
function readAddresses(hostname: string): readonly string[] | undefined {
  const literal = normalizeAddress(dropBrackets(hostname));
  if (literal !== undefined) return [literal];
  return isLoopbackHost(hostname) ? ["127.0.0.1", "::1"] : undefined;
}

/** Below, others than web servers listen. */
export function isUsualPort(port: string): boolean {
  return port === "" || Number(port) >= 1024;
}
