import { randomUUID } from "node:crypto";
import { CallFailure } from "../../client/call-failure.ts";
import type { Client } from "../../client/client.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract, listEndpoints } from "../../contract/index.ts";
import { Problem } from "../../contract/problem.ts";
import type { Access } from "./key-access.ts";

type ProbeOptions = {
  readonly client: Client;
  readonly access: Access;
  /** An endpoint without a tool in this configuration is not worth asking. */
  readonly isOffered: (endpoint: Endpoint) => boolean;
};

/**
 * Finds out what a key of a remote deployment may do, by calls that cannot change anything: lists
 * of one, a read of an id that does not exist, and writes of apps without their wrapper, which the
 * deployment refuses for that after it has checked the key. Nothing else is ever tried.
 */
export async function probeAccess({ client, access, isOffered }: ProbeOptions): Promise<void> {
  const { projects, links } = contract;
  // These two tell what kind of key it is, which answers half of the questions.
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
    if (error instanceof Problem) return learnFromProblem(endpoint, error, access);
    // Where one endpoint's answer cannot be read, or is 503, the other endpoints may still answer.
    const isOfEndpoint =
      error instanceof CallFailure && ["bad_response", "overloaded"].includes(error.code);
    if (!isOfEndpoint) throw error;
  }
}

function learnFromProblem(endpoint: Endpoint, { status, message }: Problem, access: Access): void {
  if (status === 401) return access.noteRefused(endpoint, message);
  // The key was accepted, and the request refused; a list takes nothing, so it does not exist.
  const isKeyAccepted = [400, 404, 422].includes(status) && endpoint.list === undefined;
  if (isKeyAccepted) access.noteGranted(endpoint);
}

function isHarmless({ method, path, auth }: Endpoint): boolean {
  if (auth === "none") return false;
  return method === "GET" || (/^\/(ios|android)_apps/.test(path) && method !== "DELETE");
}
