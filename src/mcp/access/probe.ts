import { randomUUID } from "node:crypto";
import { CallFailure } from "../../client/call-failure.ts";
import type { Client } from "../../client/client.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract, listEndpoints } from "../../contract/index.ts";
import { Problem } from "../../contract/problem.ts";
import type { Access } from "./key-access.ts";

type Probing = {
  readonly client: Client;
  readonly access: Access;
  /** What no tool of this configuration does is not worth asking. */
  readonly isOffered: (endpoint: Endpoint) => boolean;
};

/**
 * Finds out what a key of a remote deployment may do, by calls that cannot change anything: lists
 * of one, a look at an id that nobody has, and writes of apps without their wrapper, which are
 * refused for that after the key was judged. Nothing else is ever tried.
 */
export async function probe({ client, access, isOffered }: Probing): Promise<void> {
  const { projects, links } = contract;
  // What kind of key it is settles half of the questions.
  const first: readonly Endpoint[] = [projects.index, links.index];
  for (const endpoint of [...first, ...listEndpoints()]) {
    const isWanted = isHarmless(endpoint) && isOffered(endpoint);
    if (isWanted && access.read(endpoint).state === "unknown") {
      await probeOne(endpoint, client, access);
    }
  }
}

async function probeOne(endpoint: Endpoint, client: Client, access: Access): Promise<void> {
  const { wrapper: _, ...bare } = endpoint;
  const input = {
    ...(endpoint.params && { id: randomUUID() }),
    ...(endpoint.list && { limit: 1 }),
  };
  try {
    await client.call<Endpoint>(bare, input);
    access.noteGranted(endpoint);
  } catch (error) {
    if (error instanceof Problem) return learn(endpoint, error, access);
    // Where it answers something else, or breaks down, the other endpoints may still do better.
    const isTheirs =
      error instanceof CallFailure && ["bad_response", "overloaded"].includes(error.code);
    if (!isTheirs) throw error;
  }
}

function learn(endpoint: Endpoint, { status, message }: Problem, access: Access): void {
  if (status === 401) return access.noteRefused(endpoint, message);
  // It went past the key to the request itself; a list, which wants nothing, is just not there.
  const isPastKey = [400, 404, 422].includes(status) && endpoint.list === undefined;
  if (isPastKey) access.noteGranted(endpoint);
}

function isHarmless({ method, path, auth }: Endpoint): boolean {
  if (auth === "none") return false;
  return method === "GET" || (/^\/(ios|android)_apps/.test(path) && method !== "DELETE");
}
