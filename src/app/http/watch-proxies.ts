import type { IncomingMessage } from "node:http";
import type { Clock } from "../../contract/clock.ts";
import { normalizeAddress, isPublicAddress } from "../../network/ip-address.ts";
import { createTrust, type TrustedProxies } from "../../network/client-address.ts";

/** Whether requests come through a proxy that is not trusted. No address is kept for it. */
export type ProxyWatch = {
  /** Looks at the first request of a connection. A proxy forwards the others in the same way. */
  readonly look: (request: Pick<IncomingMessage, "headers" | "socket">) => void;
  /** Whether a request came through such a proxy within the last day. */
  readonly hasMet: () => boolean;
};

/** What the process that serves links reports about itself and the proxies in front of it. */
export type ServedBy = {
  /** A stdio process leaves the port when `serve` asks for it. */
  readonly kind: "serve" | "stdio";
  /** Whether a request lately came to `serve` through a proxy that it does not trust. */
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
      // Anyone on the public internet can send this header without being a proxy.
      if (peer === undefined || isPublicAddress(peer) || trusts(peer, 0)) return;
      metAt = monotonic();
    },
    hasMet: () => monotonic() - metAt < lately_ms,
  };
}
