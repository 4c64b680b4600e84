import { createHash } from "node:crypto";
import type { Bulk } from "../../bulk/bulk.ts";
import type { Client } from "../../client/client.ts";
import { hasRole, type KnownKey } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { Problem } from "../../contract/problem.ts";
import type { History, Readers } from "../../state/history.ts";
import type { Scope } from "../../contract/scopes-and-roles.ts";
import { createAccess, type Access } from "./key-access.ts";
import { limitDestinations, type DestinationLimits } from "./limit-destinations.ts";
import { probeAccess } from "./probe-access.ts";

/** What one key sees and how its calls travel: shared by every call that shows the key. */
export type KeyContext = DestinationLimits & {
  readonly access: Access;
  /** Asks the deployment, and learns from every answer what the key may do. */
  readonly call: Client["call"];
  /** Plans and jobs of all keys; each is shown its own. */
  readonly bulk: Bulk;
  /** The deployment's address. */
  readonly origin: string;
  /** Whether it refuses a write whose target is not what was shown any more. */
  readonly checksConditions: boolean;
  /** Whether deleted links and apps rest in a bin of the deployment. */
  readonly keepsBin: boolean;
  /** What was written, by this key and by others. */
  readonly openHistory: () => Promise<History>;
  /** The project, or else the deployment: what one key has changed others of it may be shown. */
  readonly realm: string;
  /** Whose changes the key is shown: its own, or all of the project's. */
  readonly readers: Readers;
  /** Tells keys apart without naming them. */
  readonly key_print: string;
  /** As of the last `renew`. */
  readonly known: KnownKey;
  /** Whether the operator lets anything do what this endpoint does, by whichever tool. */
  readonly isActAllowed: (endpoint: Endpoint) => boolean;
  /** Whether the operator and the key allow the endpoint's own tool, as far as is known. */
  readonly mayAsk: (endpoint: Endpoint) => boolean;
  /** Probes what is not known of the access yet; once, however often it is called. */
  readonly explore: () => Promise<void>;
  /** Takes over what the embedded service knows of the key by now. */
  readonly renew: () => Promise<void>;
};

export type KeyContextOptions = Pick<
  KeyContext,
  "bulk" | "origin" | "checksConditions" | "openHistory" | "known" | "isActAllowed"
> & {
  readonly client: Client;
  readonly key: string | undefined;
  readonly scopes: readonly Scope[] | undefined;
  /** The hosts that links may lead to, by the operator of this server; left out, any. */
  readonly destinations?: readonly string[] | undefined;
  /** Whether this configuration has the endpoint's tool. */
  readonly isOffered: (endpoint: Endpoint) => boolean;
  /** Asks the embedded service again; undefined for a key that is no more. */
  readonly lookUp: () => Promise<KnownKey | undefined>;
  readonly onChange: () => void;
};

export function createKeyContext(options: KeyContextOptions): KeyContext {
  const { client, bulk, origin, checksConditions, openHistory, key, scopes } = options;
  const { isOffered, isActAllowed, lookUp, onChange } = options;
  let { known } = options;
  const hasKey = key !== undefined;
  const access = createAccess({ hasKey, scopes, facts: known.facts, onChange });
  const limits = limitDestinations({
    destinations: options.destinations,
    readKnown: () => known,
    call: learnFrom(client, access),
  });
  const { call } = limits;
  const key_print = printKey(key);
  const readRealm = () => known.projectId ?? origin;
  let exploring: Promise<void> | undefined;

  return {
    ...limits,
    bulk,
    origin,
    checksConditions,
    get keepsBin() {
      return known.binDays !== undefined;
    },
    openHistory,
    access,
    key_print,
    get realm() {
      return readRealm();
    },
    get readers() {
      const isLimited = scopes !== undefined || !ownsAll(known.facts);
      return { realm: readRealm(), ...(isLimited && { key_print }) };
    },
    get known() {
      return known;
    },
    isActAllowed,
    mayAsk: (endpoint) => isOffered(endpoint) && access.read(endpoint).state !== "denied",
    explore: async () => {
      if (access.hasFacts() || access.readKind() === "none") return;
      exploring ??= probeAccess({ call, access, isOffered }).catch(() => {
        // A deployment out of reach teaches nothing; the next call of `explore` tries again.
        exploring = undefined;
      });
      await exploring;
    },
    renew: async () => {
      const current = await lookUp();
      if (current === undefined || current === known) return;
      known = current;
      if (current.facts !== undefined) access.setFacts(current.facts);
    },
  };
}

/** What other keys have done is shown to an owner whose key is not limited. */
function ownsAll(facts: KnownKey["facts"]): boolean {
  return facts !== undefined && hasRole(facts, "owner") && facts.scopes.length === 0;
}

/** A job's calls teach as much of the key as a tool's calls. */
function learnFrom(client: Client, access: Access): Client["call"] {
  return async (endpoint, input, signal, condition) => {
    try {
      const output = await client.call(endpoint, input, signal, condition);
      access.noteGranted(endpoint);
      return output;
    } catch (error) {
      const isRefusal = error instanceof Problem && error.status === 401;
      if (isRefusal) access.noteRefused(endpoint, error.message);
      throw error;
    }
  };
}

export function printKey(key: string | undefined): string {
  return createHash("sha256")
    .update(`key ${key ?? ""}`)
    .digest("base64url");
}
