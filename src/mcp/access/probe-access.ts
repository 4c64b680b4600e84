import { randomUUID } from "node:crypto";
import type { Client } from "../../client/client.ts";
import type { Outcome } from "../../client/outcome.ts";
import { readCause, type Cause } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract, listEndpoints } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Access } from "./key-access.ts";

/** What is asked of a deployment to find out what a key may do: nothing that changes anything. */

export type Probe = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
};

export type Probing = {
  readonly tryOnce: Client["tryOnce"];
  readonly access: Access;
  readonly probes: readonly Probe[];
  /** Whether what is known already is asked once more. */
  readonly isAnew: (endpoint: Endpoint) => boolean;
};

export type Probed = {
  readonly asked: readonly Endpoint[];
  /** Whether everything was answered; what was not may be asked again later. */
  readonly isWhole: boolean;
};

/** Lists of one, what has an id that nothing has, and changes to that without a single field. */
export function listProbes(isOffered: (endpoint: Endpoint) => boolean): readonly Probe[] {
  const id = createUnknownId();
  return listEndpoints().flatMap((endpoint): readonly Probe[] => {
    const { method, auth, params, list, hidden, ours } = endpoint;
    if (auth === "none" || !isOffered(endpoint)) return [];
    // What only an undo asks is not there for an assistant to be listed.
    if (hidden === true && ours !== true) return [];
    const isHarmless = method === "GET" || (method === "PATCH" && params !== undefined);
    if (!isHarmless) return [];
    return [{ endpoint, input: { ...(params && { id }), ...(list && { limit: 1 }) } }];
  });
}

/** A deployment that counts its rows may read 3f… as the number 3, and no letter as one. */
function createUnknownId(): string {
  return `f${randomUUID().slice(1)}`;
}

export async function probeAccess(probing: Probing): Promise<Probed> {
  const { tryOnce, access, probes } = probing;
  const ask = async ({ endpoint, input }: Probe): Promise<Asked> => {
    const outcome = await tryOnce(endpoint, { input });
    return { endpoint, noted: note(endpoint, outcome, access) };
  };
  const askAll = (isMeant: (endpoint: Endpoint) => boolean) =>
    Promise.all(
      probes.filter((probe) => isMeant(probe.endpoint) && isWorth(probe, probing)).map(ask),
    );
  // These two tell what kind of key it is, which answers half of the questions.
  const first = await askAll((endpoint) => telling.has(endpoint));
  const rest = isUseless(first) ? [] : await askAll((endpoint) => !telling.has(endpoint));
  const asked = [...first, ...rest];
  return {
    asked: asked.map(({ endpoint }) => endpoint),
    isWhole: !asked.some(({ endpoint }) => access.isWorthAsking(endpoint, false)),
  };
}

/** A key that is none is refused everywhere, and who does not answer is asked no more for now. */
function isUseless(first: readonly Asked[]): boolean {
  if (first.length === 0 || first.some(({ noted }) => noted === "told")) return false;
  const isNone = first.some(
    ({ endpoint, noted }) => endpoint === links.index && noted === "refused",
  );
  return isNone || first.every(({ noted }) => noted === "unanswered");
}

const { projects, links } = contract;
const telling: ReadonlySet<Endpoint> = new Set<Endpoint>([projects.index, links.index]);

export function isWorth(
  { endpoint }: Probe,
  { access, isAnew }: Pick<Probing, "access" | "isAnew">,
): boolean {
  return access.isWorthAsking(endpoint, isAnew(endpoint));
}

type Asked = { readonly endpoint: Endpoint; readonly noted: Noted };

/** `told` something of what the key may do, or refused the key as such. */
type Noted = "told" | "refused" | "unanswered" | "nothing";

/** Only a 401 that names scope, role or plan denies; what was not expected tells nothing. */
function note(endpoint: Endpoint, outcome: Outcome, access: Access): Noted {
  switch (outcome.kind) {
    // It was done, and only what it was answered with is not known.
    case "accepted":
      access.noteAccepted(endpoint);
      return "told";
    case "answered":
      access.noteAnswered(endpoint);
      return "told";
    case "limited":
    case "unsent":
      return "unanswered";
    case "failed": {
      const { code, message } = outcome.failure;
      return code === "bad_response" ? settle(endpoint, message, access) : "unanswered";
    }
    case "doubtful": {
      // Only a 503 asks us to wait.
      if (outcome.reason !== "failing" || outcome.wait_ms !== undefined) return "unanswered";
      return settle(endpoint, `When Waypost checked, ${outcome.said}.`, access);
    }
    case "refused": {
      const { status, message } = outcome.problem;
      if (status === 401) return noteUnauthorized(endpoint, message, access);
      if (!isKeyAccepted(endpoint, status)) {
        return settle(
          endpoint,
          `When Waypost checked, the server answered with status ${status}: ${message}`,
          access,
        );
      }
      access.noteAccepted(endpoint);
      return "told";
    }
  }
}

function settle(endpoint: Endpoint, reason: string, access: Access): Noted {
  access.noteSettled(endpoint, reason);
  return "nothing";
}

function noteUnauthorized(endpoint: Endpoint, message: string, access: Access): Noted {
  access.noteRefused(endpoint, message, true);
  const cause = readCause(message);
  if (keyTroubles.has(cause)) return "refused";
  if (cause === "unauthorized") return settle(endpoint, message, access);
  return "told";
}

const keyTroubles: ReadonlySet<Cause> = new Set([
  "key_missing",
  "key_invalid",
  "account_suspended",
]);

/**
 * The key was accepted, and the request refused for what it asked. A list takes nothing, so one
 * that is not found does not exist there, as what is ours.
 */
function isKeyAccepted(endpoint: Endpoint, status: number): boolean {
  if (endpoint.list !== undefined || endpoint.ours === true) return false;
  return status === 404 || status === 422;
}
