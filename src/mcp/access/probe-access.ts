import { randomUUID } from "node:crypto";
import { CallFailure } from "../../client/call-failure.ts";
import type { Client } from "../../client/client.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract, listToolEndpoints } from "../../contract/index.ts";
import { Problem } from "../../contract/problem.ts";
import type { Access } from "./key-access.ts";

type ProbeOptions = {
  /** Learns from what is answered that the key may, and from a 401 that it may not. */
  readonly call: Client["call"];
  readonly access: Access;
  /** An endpoint without a tool in this configuration is not worth asking. */
  readonly isOffered: (endpoint: Endpoint) => boolean;
};

/**
 * Finds out what a key of a remote deployment may do, by calls that cannot change anything: lists
 * of one, a read of an id that does not exist, and writes of apps without their wrapper, which the
 * deployment refuses for that after it has checked the key. Nothing else is ever tried.
 */
export async function probeAccess({ call, access, isOffered }: ProbeOptions): Promise<void> {
  const { projects, links } = contract;
  // These two tell what kind of key it is, which answers half of the questions.
  const first: readonly Endpoint[] = [projects.index, links.index];
  for (const endpoint of [...first, ...listToolEndpoints()]) {
    const isWanted = isHarmless(endpoint) && isOffered(endpoint);
    if (isWanted && access.read(endpoint).state === "unknown") {
      await probeOne(endpoint, call, access);
    }
  }
}

async function probeOne(endpoint: Endpoint, call: Client["call"], access: Access): Promise<void> {
  const { wrapper: _, ...bare } = endpoint;
  const input = {
    ...(endpoint.params && { id: randomUUID() }),
    ...(endpoint.list && { limit: 1 }),
  };
  try {
    await call<Endpoint>(bare, input);
  } catch (error) {
    if (error instanceof Problem) {
      // The key was accepted, and the request refused; a list takes nothing, so it does not exist.
      const isKeyAccepted = [400, 404, 422].includes(error.status) && endpoint.list === undefined;
      if (isKeyAccepted) access.noteGranted(endpoint);
      return;
    }
    // Where one endpoint's answer cannot be read, or is 503, the other endpoints may still answer.
    const isOfEndpoint =
      error instanceof CallFailure && ["bad_response", "overloaded"].includes(error.code);
    if (!isOfEndpoint) throw error;
  }
}

function isHarmless({ method, path, auth }: Endpoint): boolean {
  if (auth === "none") return false;
  return method === "GET" || (/^\/(ios|android)_apps/.test(path) && method !== "DELETE");
}
