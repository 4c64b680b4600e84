import { getRequestListener } from "@hono/node-server";
import { openRemoteSender } from "../../src/client/carriers.ts";
import { startAlteringProxy, type Alter, type AlteringProxy } from "./altering-proxy.ts";
import {
  createAssistantWorld,
  type AssistantOptions,
  type AssistantWorld,
} from "./assistant-world.ts";
import { startDeployment } from "./mcp-deployment.ts";
import { createWorld } from "./world.ts";

/** An assistant over HTTP before a real service whose replies a test alters. */
export type StrangeWorld = Omit<AssistantWorld, "writes" | "countAsked" | "interrupt"> & {
  readonly proxy: AlteringProxy;
  /** What came to the deployment so far that could change something. */
  readonly listWrites: () => readonly string[];
};

export async function createStrangeWorld(
  alter: Alter = (_, reply) => reply,
  options: AssistantOptions = {},
): Promise<StrangeWorld> {
  const world = await createWorld();
  const target = await startDeployment(getRequestListener((request) => world.fetch(request)));
  const proxy = await startAlteringProxy(target.url, alter);
  const { send, close } = openRemoteSender();
  const remote = { url: proxy.url, send };
  const assistant = await createAssistantWorld({ mode: "full", ...options, beside: world, remote });
  return {
    ...assistant,
    proxy,
    listWrites: () =>
      proxy.requests
        // What a key may do is asked with changes of nothing.
        .filter(({ method, body }) => method !== "GET" && !/^\{("\w+":\{\})?\}$/.test(body))
        .map(({ method, path }) => `${method} ${path}`),
    [Symbol.asyncDispose]: async () => {
      await assistant[Symbol.asyncDispose]();
      await close();
      await proxy[Symbol.asyncDispose]();
      await target[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}
