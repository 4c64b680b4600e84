import { getRequestListener } from "@hono/node-server";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { limits } from "../../contract/limits.ts";
import { limitUnanswered } from "../../network/limit-unanswered.ts";

/**
 * Serves the approval page in a process without an HTTP server. Listens on the loopback interface,
 * and only while an approval is pending.
 */
export type PageListener = {
  /** Starts serving an approval's page and returns its URL. */
  readonly open: (path: string, id: string) => Promise<string>;
  /** Stops serving the page of an approval that is no longer pending. */
  readonly release: (id: string) => void;
  readonly close: () => void;
};

const host = "127.0.0.1";
/** Slightly longer than an approval's lifetime, so that a late visitor sees that it has expired. */
const openFor_ms = limits.approval_ms + 30_000;
/** How long the page stays up after the decision, so that the browser can load the result. */
const openAfterEnd_ms = 2000;
const serverLimits = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
} as const;

export function createPageListener(fetch: (request: Request) => Promise<Response>): PageListener {
  const timers = new Map<string, NodeJS.Timeout>();
  let listening: Promise<Server> | undefined;

  function stayOpen(id: string, milliseconds: number): void {
    clearTimeout(timers.get(id));
    const end = () => {
      timers.delete(id);
      if (timers.size === 0) close();
    };
    timers.set(id, setTimeout(end, milliseconds).unref());
  }

  function close(): void {
    for (const timer of timers.values()) clearTimeout(timer);
    timers.clear();
    listening?.then(closeNow, () => undefined);
    listening = undefined;
  }

  return {
    open: async (path, id) => {
      // A repeated call for the same approval does not extend its timer.
      if (!timers.has(id)) stayOpen(id, openFor_ms);
      listening ??= listen(fetch);
      try {
        const { port } = (await listening).address() as AddressInfo;
        return `http://${host}:${port}${path}${id}`;
      } catch (error) {
        // Close the failed listener, so that the next approval opens a new one.
        close();
        throw error;
      }
    },
    release: (id) => stayOpen(id, openAfterEnd_ms),
    close,
  };
}

function closeNow(server: Server): void {
  server.close();
  server.closeAllConnections();
}

async function listen(fetch: (request: Request) => Promise<Response>): Promise<Server> {
  const listener = getRequestListener(fetch);
  const answer = limitUnanswered((request, response) => void listener(request, response));
  const server = createServer(serverLimits, answer);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen({ host, port: 0 }, resolve);
  });
  // An open page must not keep the process running.
  return server.unref();
}
