import type { IncomingMessage } from "node:http";
import type { Clock } from "../contract/clock.ts";
import { findClientAddress, createTrust, type TrustedProxies } from "../network/client-address.ts";
import { findAddressGroup } from "../network/ip-address.ts";

/** Limits how often a client may request something expensive, and identifies the client. */

/** At this number of clients, all counts are reset, so that no one can fill the memory. */
const mostClients = 20_000;

type ClientLimit = {
  readonly window_ms: number;
  /** Returns how often a client may act within a window. */
  readonly findMost: (client: string) => number;
};

/** Limits how often each client may use something expensive. */
export function createClientLimit(
  { monotonic }: Pick<Clock, "monotonic">,
  { window_ms, findMost }: ClientLimit,
) {
  const counts = new Map<string, number>();
  let endsAt = -Infinity;

  return {
    takes: (client: string): boolean => {
      const now = monotonic();
      if (now >= endsAt || counts.size >= mostClients) {
        counts.clear();
        endsAt = now + window_ms;
      }
      const count = (counts.get(client) ?? 0) + 1;
      counts.set(client, count);
      return count <= findMost(client);
    },
  };
}

export type FindClient = (request: IncomingMessage) => string;

/**
 * Returns a function that maps a request to its client for rate limits. All IPv6 addresses of a /64
 * network count as one client.
 */
export function createClientFinder(trustedProxies: TrustedProxies | undefined): FindClient {
  const trusts = createTrust(trustedProxies);
  return (request) => {
    const address = findClientAddress(request, trusts);
    return address === undefined ? "" : findAddressGroup(address);
  };
}
