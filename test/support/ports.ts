import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";

/** Use these if a test chooses the port of a process, or listens itself. */

/**
 * A free port below the range from which the system assigns ports, so that no other program gets it
 * before it is used.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const server = createServer();
    const port = await listen(server, randomInt(12_000, 32_000)).catch(() => undefined);
    if (port === undefined) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

export async function listen(server: Server, port: number, host = "127.0.0.1"): Promise<number> {
  server.listen({ host, port });
  await once(server, "listening");
  // A listening TCP server has an address with a port.
  return (server.address() as AddressInfo).port;
}
