import { findWebAddressFault } from "../contract/rules/web-address.ts";
import { matchNetworks, normalizeAddress, type Network } from "../network/ip-address.ts";
import { resolveHost, type Reach } from "../network/hosts/pinned-connection.ts";
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

/** What is wrong with a webhook's address, as the end of a sentence, before it is ever asked. */
export function findUrlFault(url: string, networks: readonly Network[]): string | undefined {
  const fault = findWebAddressFault(url);
  if (fault !== undefined) return fault;
  const { protocol, hash } = new URL(url);
  if (hash !== "") return "can't have a fragment";
  if (protocol === "https:" || networks.length > 0) return undefined;
  return "must be an https address; plain http is for networks that WAYPOST_WEBHOOK_PRIVATE names";
}
