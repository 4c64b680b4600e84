import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** After so many requests a connection ends, and after up to as many more. */
const leastRequests = 500;

/**
 * Processes take connections from one queue, each when it has time, and one may have taken all that
 * were opened in a moment. So none is kept for ever: who asks on opens another one, which whoever
 * has the least to do is the first to take. They do not all end at once.
 */
export function renewConnections(server: Server, random = Math.random): void {
  const left = new WeakMap<Socket, number>();
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const asked = left.get(socket) ?? leastRequests + Math.floor(random() * leastRequests);
    left.set(socket, asked - 1);
    if (asked <= 1) response.shouldKeepAlive = false;
  });
}
