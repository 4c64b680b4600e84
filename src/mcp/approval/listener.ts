import { getRequestListener } from "@hono/node-server";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * A page for a process that serves nothing else: a listener on loopback that is open only while
 * an approval waits.
 */
export type Listener = {
  /** Opens an approval's page and answers its address. */
  readonly open: (path: string, id: string) => Promise<string>;
  /** This approval waits no longer. */
  readonly release: (id: string) => void;
  readonly close: () => void;
};

const host = "127.0.0.1";
/** As long as an approval may wait. */
const lasts_ms = 5 * 60_000;
/** So that a browser still gets the page that tells how it ended. */
const farewell_ms = 2000;
const serverLimits = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
} as const;

export function createListener(fetch: (request: Request) => Promise<Response>): Listener {
  const waiting = new Map<string, NodeJS.Timeout>();
  let listening: Promise<Server> | undefined;

  function release(id: string): void {
    clearTimeout(waiting.get(id));
    waiting.set(id, wait(farewell_ms, id));
  }

  function wait(milliseconds: number, id: string): NodeJS.Timeout {
    return setTimeout(() => {
      waiting.delete(id);
      if (waiting.size === 0) close();
    }, milliseconds).unref();
  }

  function close(): void {
    for (const timer of waiting.values()) clearTimeout(timer);
    waiting.clear();
    void listening?.then((server) => {
      server.close();
      server.closeAllConnections();
    });
    listening = undefined;
  }

  return {
    open: async (path, id) => {
      clearTimeout(waiting.get(id));
      waiting.set(id, wait(lasts_ms, id));
      listening ??= listen(fetch);
      const server = await listening;
      // A listening TCP server has an address with a port.
      return `http://${host}:${(server.address() as AddressInfo).port}${path}${id}`;
    },
    release,
    close,
  };
}

async function listen(fetch: (request: Request) => Promise<Response>): Promise<Server> {
  const listener = getRequestListener(fetch);
  const server = createServer(serverLimits, (request, response) => {
    void listener(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen({ host, port: 0 }, resolve);
  });
  // An open page must not keep a process alive that has nothing else to do.
  return server.unref();
}
