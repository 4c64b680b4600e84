import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Duplex } from "node:stream";
import { secureExample } from "../support/certificates.ts";
import { openServer } from "../support/ports.ts";

/** A browser that uses this proxy reaches a local server by its public https addresses. */
export type PublicProxy = {
  readonly url: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type ProxyOptions = {
  readonly port: number;
  readonly origins: readonly string[];
  readonly answerOther: (response: ServerResponse) => void;
};

export async function openPublicProxy(options: ProxyOptions): Promise<PublicProxy> {
  const { port, origins, answerOther } = options;
  const hosts = new Set(origins.map((origin) => new URL(origin).host));
  const site = createSecureServer(secureExample, (received, response) => {
    if (hosts.has(received.headers.host ?? "")) forward(received, response, port);
    else answerOther(response);
  });
  const proxy = createServer();
  // Closing the server waits for them.
  const tunnels = new Set<Duplex>();
  proxy.on("connect", (_request, socket) => {
    tunnels.add(socket);
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    site.emit("connection", socket);
  });
  const { url, [Symbol.asyncDispose]: close } = await openServer(proxy);
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      for (const socket of tunnels) socket.destroy();
      await close();
    },
  };
}

function forward(received: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url, headers } = received;
  const added = { "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.7" };
  const sent = request(
    { host: "127.0.0.1", port, method, path: url, headers: { ...headers, ...added } },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  sent.on("error", (error) => response.destroy(error));
  received.pipe(sent);
}
