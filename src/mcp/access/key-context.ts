import { createHash } from "node:crypto";
import type { Bulk } from "../../bulk/bulk.ts";
import type { Client } from "../../client/client.ts";
import type { KeyFacts } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import type { Scope } from "../../contract/policy.ts";
import { Problem } from "../../contract/problem.ts";
import { createAccess, type Access } from "./key-access.ts";
import { probe } from "./probe.ts";

/** What is known of a key without asking the API. */
export type KnownKey = {
  readonly facts: KeyFacts | undefined;
  readonly linkHost: string | undefined;
  /** Whether the Open button of a link's page leads by a second host name. */
  readonly hasSecondHost: boolean;
  readonly linkInReferrer: boolean;
};

export type KeyContextOptions = {
  readonly bulk: Bulk;
  readonly origin: string;
  readonly client: Client;
  readonly key: string | undefined;
  readonly scopes: readonly Scope[] | undefined;
  readonly known: KnownKey;
  /** Whether this configuration has the endpoint's tool. */
  readonly isOffered: (endpoint: Endpoint) => boolean;
  /** Asks the embedded service again; undefined for a key that is no more. */
  readonly lookUp: () => Promise<KnownKey | undefined>;
  readonly onChange: () => void;
};

/** What one key sees: made once for each key, and shared by all who show it. */
export function createKeyContext(options: KeyContextOptions): KeyContext {
  const { client, bulk, origin, key, scopes, known, isOffered, lookUp, onChange } = options;
  const { facts } = known;
  let latest = known;
  const access = createAccess({ hasKey: key !== undefined, scopes, facts, onChange });
  let exploring: Promise<void> | undefined;

  return {
    call: learnFrom(client, access),
    bulk,
    origin,
    access,
    key_print: printKey(key),
    get linkHost() {
      return latest.linkHost;
    },
    get hasSecondHost() {
      return latest.hasSecondHost;
    },
    get linkInReferrer() {
      return latest.linkInReferrer;
    },
    mayAsk: (endpoint) => isOffered(endpoint) && access.read(endpoint).state !== "denied",
    explore: async () => {
      if (access.hasFacts() || access.readKind() === "none") return;
      exploring ??= probe({ client, access, isOffered }).catch(() => {
        // A deployment out of reach teaches nothing; the next one who asks tries again.
        exploring = undefined;
      });
      await exploring;
    },
    renew: async () => {
      const current = await lookUp();
      if (current === undefined || current === latest) return;
      latest = current;
      if (current.facts !== undefined) access.setFacts(current.facts);
    },
  };
}

/** What a job is answered teaches as much of the key as what a tool is. */
function learnFrom(client: Client, access: Access): Client["call"] {
  return async (endpoint, input, signal) => {
    try {
      const output = await client.call(endpoint, input, signal);
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
/** What one key sees and how its calls travel: shared by every call that shows the key. */
export type KeyContext = {
  readonly access: Access;
  /** Asks the deployment, and learns from every answer what the key may do. */
  readonly call: Client["call"];
  /** Plans and jobs of all keys; each is shown its own. */
  readonly bulk: Bulk;
  /** The deployment's address. */
  readonly origin: string;
  /** Tells keys apart without naming them. */
  readonly key_print: string;
  /** Where this key's links live, when that is known: `https://spring.links.example`. */
  readonly linkHost: string | undefined;
  /** Whether a page's button leads by a second host name. */
  readonly hasSecondHost: boolean;
  /** The project's setting, as far as it is known (link-services.md §3). */
  readonly linkInReferrer: boolean;
  /** Whether the operator and the key allow the endpoint's own tool, as far as is known. */
  readonly mayAsk: (endpoint: Endpoint) => boolean;
  /** Finds out what is not known of the access yet; once, however often it is asked for. */
  readonly explore: () => Promise<void>;
  /** Takes over what the embedded service knows of the key by now. */
  readonly renew: () => Promise<void>;
};
