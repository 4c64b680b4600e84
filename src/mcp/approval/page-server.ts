import { getRequestListener } from "@hono/node-server";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * A page for a process that serves nothing else: a listener on loopback that is open only while
 * an approval waits.
 */
export type PageServer = {
  /** Opens an approval's page and answers its address. */
  readonly open: (path: string, id: string) => Promise<string>;
  /** This approval waits no longer. */
  readonly release: (id: string) => void;
  readonly close: () => void;
};

const host = "127.0.0.1";
/** As long as an approval may wait, and then a little, for whoever comes late is told so. */
const lasts_ms = 5 * 60_000 + 30_000;
/** So that a browser still gets the page that tells how it ended. */
const farewell_ms = 2000;
const serverLimits = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
} as const;

export function createPageServer(fetch: (request: Request) => Promise<Response>): PageServer {
  const waiting = new Map<string, NodeJS.Timeout>();
  let listening: Promise<Server> | undefined;

  function wait(id: string, milliseconds: number): void {
    clearTimeout(waiting.get(id));
    const end = () => {
      waiting.delete(id);
      if (waiting.size === 0) close();
    };
    waiting.set(id, setTimeout(end, milliseconds).unref());
  }

  function close(): void {
    for (const timer of waiting.values()) clearTimeout(timer);
    waiting.clear();
    const closing = listening;
    listening = undefined;
    closing?.then(closeNow, () => undefined);
  }

  return {
    open: async (path, id) => {
      // Asking once more for what waits already does not make it wait longer.
      if (!waiting.has(id)) wait(id, lasts_ms);
      listening ??= listen(fetch);
      try {
        // A listening TCP server has an address with a port.
        const { port } = (await listening).address() as AddressInfo;
        return `http://${host}:${port}${path}${id}`;
      } catch (error) {
        // The next one who asks tries again.
        close();
        throw error;
      }
    },
    release: (id) => wait(id, farewell_ms),
    close,
  };
}

function closeNow(server: Server): void {
  server.close();
  server.closeAllConnections();
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
