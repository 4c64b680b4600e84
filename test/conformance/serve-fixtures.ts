import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { chooseTools, createAssistant } from "../../src/app/process/assistant.ts";
import { openDeployment } from "../../src/app/process/deployment.ts";
import { clock, setAlarm } from "../../src/app/process/embedded.ts";
import { createHttpServer, setRequestHandlers } from "../../src/app/http/http-server.ts";
import { readConfig } from "../../src/config.ts";
import { createMcpHttp } from "../../src/mcp/transport/http.ts";
import { createFolder } from "../support/command.ts";
import { addFixtures } from "./add-fixtures.ts";

/** No fixture needs an approval. */
const openPage = () => Promise.reject(new Error("an approval was requested"));

/** `waypost serve` in this process, assembled from its parts, with the fixtures added. */
export type Serving = {
  readonly url: string;
  /** Errors inside the server; there must be none. */
  readonly reported: readonly unknown[];
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

const readLinkOrigin = () => "http://{subdomain}.localhost:8787";
const readListening = () => Promise.resolve(undefined);

export async function serveFixtures(): Promise<Serving> {
  const folder = await createFolder();
  const config = readConfig({ WAYPOST_DATA: folder.path }, {});
  const reported: unknown[] = [];
  const report = (error: unknown) => `reference-${reported.push(error)}`;
  const deployment = await openDeployment({ config, readLinkOrigin, report });
  const version = "0.0.0";
  const toolbox = chooseTools(config);
  const parts = { config, toolbox, deployment, version, openPage, report };
  const assistant = createAssistant({ ...parts, readListening });
  const mcp = createMcpHttp({
    ...assistant,
    toolbox,
    createServer: (keyContext, onCall) =>
      addFixtures(assistant.createServer(keyContext, onCall), keyContext),
    identify: async (token) => {
      const known = await deployment.followKey(token)();
      return known && { key: token, known };
    },
    hostnames: ["127.0.0.1", "localhost"],
    clock,
    setAlarm,
    onError: () => {},
    report,
  });

  const server = createHttpServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  // A listening server has an address with a port; only pipes have a path instead.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const key = readFileSync(deployment.own?.keyFile ?? "", "utf8").trim();
  // The suite cannot send a key, so it is added here. Its requests are otherwise unchanged.
  server.prependListener("request", ({ rawHeaders }) =>
    rawHeaders.push("authorization", `Bearer ${key}`),
  );
  setRequestHandlers(server, {
    api: deployment.own?.http,
    mcp,
    pages: {},
    links: undefined,
    hostnames: ["127.0.0.1", "localhost"],
    readUnready: () => Promise.resolve(undefined),
    trustedProxies: undefined,
  });

  return {
    url: `${url}/mcp`,
    reported,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await mcp.close();
      await assistant.close();
      await deployment.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}
