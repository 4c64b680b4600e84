import type { IncomingMessage } from "node:http";
import type { Clock } from "../../contract/clock.ts";
import { normalizeAddress, isPublicAddress } from "../../network/ip-address.ts";
import { createTrust, type TrustedProxies } from "../../network/client-address.ts";

/** Detects whether requests come through an untrusted proxy. Stores no IP addresses. */
export type ProxyWatch = {
  /**
   * Checks the first request of a connection. A proxy forwards the connection's other requests in
   * the same way.
   */
  readonly look: (request: Pick<IncomingMessage, "headers" | "socket">) => void;
  /** Whether a request came through an untrusted proxy within the last day. */
  readonly hasMet: () => boolean;
};

/** How the serving process describes itself and the proxies in front of it. */
export type ListenerDescription = {
  /** A stdio process releases its port when `serve` asks for it. */
  readonly kind: "serve" | "stdio";
  /** Whether a request came to `serve` through an untrusted proxy within the last day. */
  readonly hasMetProxy?: boolean;
};

const lately_ms = 24 * 60 * 60_000;

export function createProxyWatch(
  proxies: TrustedProxies | undefined,
  { monotonic }: Pick<Clock, "monotonic">,
): ProxyWatch {
  const trusts = createTrust(proxies);
  let metAt = -Infinity;
  return {
    look: ({ headers, socket }) => {
      if (headers["x-forwarded-for"] === undefined) return;
      const peer = normalizeAddress(socket.remoteAddress ?? "");
      // Any client on the public internet can send this header, so it does not prove a proxy.
      if (peer === undefined || isPublicAddress(peer) || trusts(peer, 0)) return;
      metAt = monotonic();
    },
    hasMet: () => monotonic() - metAt < lately_ms,
  };
}
