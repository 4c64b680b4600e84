import {
  closeHttpServer,
  createHttpServer,
  listenAt,
  setRequestHandlers,
  type RequestHandlers,
} from "../../src/compose/http-server.ts";
import type { HttpCarrier } from "../../src/service/http-carrier.ts";

/** A server with these handlers only answers its probes. */
export const noHandlers: RequestHandlers = {
  api: undefined,
  mcp: undefined,
  pages: {},
  links: undefined,
  hostnames: [],
  readUnready: () => Promise.resolve(undefined),
  trustedProxies: undefined,
};

/** The API alone at a port of its own, as the one port of a data folder has it. */
export async function serveApi(api: HttpCarrier) {
  const server = createHttpServer();
  setRequestHandlers(server, { ...noHandlers, api });
  const port = await listenAt(server, { host: "127.0.0.1", port: 0 });
  return { server, port, close: () => closeHttpServer(server) };
}
