import { randomInt } from "node:crypto";
import { once } from "node:events";
import {
  createServer as createHttpServer,
  request as openRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import { createServer, type AddressInfo, type Server } from "node:net";

/** Use these if a test chooses the port of a process, or listens itself. */

/** A free port below the range that the system assigns, so no other program gets it first. */
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

/** Listens on a free port. Closing it also ends its connections. */
export async function openServer<Given extends ClosableServer>(server: Given, host = "127.0.0.1") {
  const port = await listen(server, 0, host);
  return {
    server,
    port,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = server.listening ? once(server, "close") : undefined;
      server.close();
      server.closeAllConnections?.();
      await closed;
    },
  };
}

type ForwardOptions = {
  readonly target: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly onAnswer?: (answer: IncomingMessage) => void;
};

/** Passes each request on to a server, and its answer back, as they arrive. */
export function openForwarder(choose: (request: IncomingMessage) => ForwardOptions) {
  const forward = (request: IncomingMessage, response: ServerResponse) => {
    const { target, headers, onAnswer } = choose(request);
    const passed = openRequest(new URL(request.url ?? "/", target), {
      method: request.method,
      headers: { ...request.headers, ...headers },
      agent: false,
    });
    passed.once("response", (answer) => {
      onAnswer?.(answer);
      response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders();
      answer.pipe(response);
    });
    passed.once("error", () => response.destroy());
    response.once("close", () => passed.destroy());
    request.pipe(passed);
  };
  return openServer(createHttpServer(forward));
}

/** Servers of HTTP can end their connections. */
type ClosableServer = Server & { readonly closeAllConnections?: () => void };

export async function listen(server: Server, port: number, host = "127.0.0.1"): Promise<number> {
  server.listen({ host, port });
  await once(server, "listening");
  // A listening TCP server has an address with a port.
  return (server.address() as AddressInfo).port;
}
