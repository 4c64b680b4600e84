import { randomUUID } from "node:crypto";
import type { Client } from "../client/client.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { contract, listEndpoints } from "../contract/index.ts";
import { Problem } from "../contract/problem.ts";
import type { Access } from "./access.ts";

/**
 * Finds out what a key of a remote deployment may do, by calls that cannot change anything: lists
 * of one, a look at an id that nobody has, and writes of apps without their wrapper, which are
 * refused for that after the key was judged. Nothing else is ever tried.
 */
export async function probe(client: Client, access: Access): Promise<void> {
  // What kind of key it is settles half of the questions.
  const { projects, links } = contract;
  for (const endpoint of [projects.index, links.index, ...listEndpoints().filter(isHarmless)]) {
    if (access.read(endpoint).state !== "unknown") continue;
    await probeOne(endpoint, client, access);
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
    // Without an answer there is nothing to learn, and no use in asking on.
    if (!(error instanceof Problem)) throw error;
    if (error.status === 401) access.noteRefused(endpoint, error.message);
    // It went past the key to the request itself.
    if (error.status === 404 || error.status === 400) access.noteGranted(endpoint);
  }
}

function isHarmless({ method, path, auth }: Endpoint): boolean {
  if (auth === "none") return false;
  return method === "GET" || (/^\/(ios|android)_apps/.test(path) && method !== "DELETE");
}
