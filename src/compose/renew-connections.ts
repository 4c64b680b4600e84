import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A connection ends after some number of requests up to this. */
export const mostRequests = 1000;

/** A longer message may be refused while it is still being sent. */
const mostBody_bytes = 64 * 1024;

/**
 * Processes take connections from one queue, each when it has time, and one may have taken all that
 * were opened in a moment. So none is kept for long: who asks on opens another one, which whoever
 * has the least to do is the first to take. They do not all end at once, and some of them soon.
 */
export function renewConnections(server: Server, random = Math.random): void {
  const left = new WeakMap<Socket, number>();
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const asked = left.get(socket) ?? 1 + Math.floor(random() * mostRequests);
    left.set(socket, asked - 1);
    if (asked <= 1 && isReadSoon(request)) response.shouldKeepAlive = false;
  });
}

/** Who is still sending when its connection ends finds it broken, and never reads the answer. */
function isReadSoon({ headers }: IncomingMessage): boolean {
  if (headers["transfer-encoding"] !== undefined) return false;
  return Number(headers["content-length"] ?? 0) <= mostBody_bytes;
}
