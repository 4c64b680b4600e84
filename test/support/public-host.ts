import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { createDeferredVisits } from "../../src/host/deferred-visits.ts";
import { createHost } from "../../src/host/host.ts";
import {
  createFetchFile,
  type FetchedFile,
  type FetchFile,
} from "../../src/network/hosts/fetch-file.ts";
import { updateProject } from "../../src/store/projects.ts";
import { ringSoon } from "./clock.ts";
import { createAssistantWorld, type AssistantWorld } from "./assistant-world.ts";
import { secureExample } from "./certificates.ts";
import { openServer } from "./ports.ts";
import { linkOrigin, type World } from "./world.ts";

/** Use this for a project whose verified domain is read over the internet. */

/** Our link host with TLS, and simulated caches of Apple and Google that keep the first file. */
export type PublicHost = {
  readonly fetchFile: FetchFile;
  /** Sets a response to send in place of the link host's; undefined restores the link host. */
  readonly setAnswer: (answer: PublicHandler | undefined) => void;
  /** The requests so far, as "AGENT PATH". */
  readonly asked: readonly string[];
  readonly others: Map<string, FetchedFile>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type PublicHandler = (request: IncomingMessage, response: ServerResponse) => unknown;

export type PublicWorld = AssistantWorld & { readonly host: PublicHost };

export async function openPublicWorld(mayAsk = () => true): Promise<PublicWorld> {
  const assistant = await createAssistantWorld({
    publicFiles: {
      fetchFile: (asked, signal) => host.fetchFile(asked, signal),
      mayAsk: () => Promise.resolve(mayAsk()),
    },
  });
  const host = await openPublicHost(assistant);
  return {
    ...assistant,
    host,
    [Symbol.asyncDispose]: async () => {
      await host[Symbol.asyncDispose]();
      await assistant[Symbol.asyncDispose]();
    },
  };
}

function report(error: unknown): never {
  throw error;
}

export const publicName = "secure.example";

export async function openPublicHost({ world }: { readonly world: World }): Promise<PublicHost> {
  const { store, clicks, clock, project } = world;
  const domain = { custom_domain: publicName, custom_domain_verified: true };
  await store.write((db) => updateProject(db, project.id, domain, 0));
  const random = { bytes: (count: number) => randomBytes(count) };
  const deferredVisits = createDeferredVisits({ store, setAlarm: ringSoon, report });
  const options = { store, clicks, clock, random, deferredVisits };
  const host = createHost({ ...options, linkOrigin, report });
  const asked: string[] = [];
  let answering: PublicHandler | undefined;
  const server = createServer(secureExample, (request, response) => {
    asked.push(`${request.headers["user-agent"]} ${request.url}`);
    if (answering !== undefined) answering(request, response);
    else void host.answer(request, response, publicName, () => response.writeHead(421).end());
  });
  const { port, [Symbol.asyncDispose]: close } = await openServer(server);
  const fetchHere = createFetchFile({
    policy: {
      resolve: (name) => Promise.resolve(name === publicName ? ["127.0.0.1"] : []),
      isPublic: (address) => address === "127.0.0.1",
      authorities: [secureExample.cert],
    },
    setAlarm: () => () => {},
    port,
  });
  const others = new Map<string, FetchedFile>();
  return {
    fetchFile: (file, signal) => {
      const other = others.get(file.hostname);
      return other === undefined ? fetchHere(file, signal) : Promise.resolve(other);
    },
    setAnswer: (answer) => {
      answering = answer;
    },
    asked,
    others,
    [Symbol.asyncDispose]: close,
  };
}
