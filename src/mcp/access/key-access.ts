import {
  findRefusal,
  hasScope,
  listNamedScopes,
  readCause,
  type Cause,
  type KeyFacts,
} from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { messages } from "../../contract/messages.ts";
import type { Scope } from "../../contract/policy.ts";

/** What a key may do, endpoint by endpoint, as far as it is known by now. */

export type Reading =
  | { readonly state: "granted" }
  | {
      readonly state: "denied";
      readonly reason: string;
      /** The operator's own doing, and not the deployment's. */
      readonly isDeclared?: true;
    }
  /** The reason is the last refusal, where it was none that meets every call. */
  | { readonly state: "unknown"; readonly reason?: string };

type KeyKind = "project" | "master" | "none";

export type Access = {
  /** `project` as long as nothing else is known of a key. */
  readonly readKind: () => KeyKind;
  readonly read: (endpoint: Endpoint) => Reading;
  /** What an answered call teaches: its key may do this. */
  readonly noteGranted: (endpoint: Endpoint) => void;
  /** What a 401 teaches. */
  readonly noteRefused: (endpoint: Endpoint, message: string) => void;
  /** Takes over what the embedded service knows of the key. */
  readonly setFacts: (facts: KeyFacts) => void;
  /** True where everything is known from the start, so that nothing needs to be tried out. */
  readonly hasFacts: () => boolean;
};

export type AccessOptions = {
  readonly hasKey: boolean;
  /** What the operator declares: it comes before anything that is found out. */
  readonly scopes: readonly Scope[] | undefined;
  readonly facts: KeyFacts | undefined;
  /** Called when more is known than before, so that a tool may have come or gone. */
  readonly onChange: () => void;
};

export function createAccess({ hasKey, scopes, facts: given, onChange }: AccessOptions): Access {
  let facts = given;
  const learned = new Map<string, Reading>();
  /** The kinds of endpoint that the key turned out to be good for. */
  const kinds = new Set<Endpoint["auth"]>();

  function learn({ tool, auth }: Endpoint, reading: Reading, isOfItsKind: boolean): void {
    const isNews = learned.get(tool)?.state !== reading.state || (isOfItsKind && !kinds.has(auth));
    if (isOfItsKind) kinds.add(auth);
    learned.set(tool, reading);
    if (isNews) onChange();
  }

  return {
    readKind: () => {
      if (!hasKey) return "none";
      return facts?.kind ?? (kinds.has("master") ? "master" : "project");
    },
    hasFacts: () => facts !== undefined,

    read: (endpoint) => {
      if (endpoint.auth === "none") return { state: "granted" };
      if (!hasKey) return { state: "denied", reason: messages.key_missing };
      const undeclared = findUndeclared(endpoint, scopes);
      if (undeclared !== undefined) return undeclared;
      if (facts !== undefined) return readFacts(endpoint, facts);
      const known = learned.get(endpoint.tool) ?? { state: "unknown" };
      if (known.state !== "unknown") return known;
      if (kinds.size === 1 && !kinds.has(endpoint.auth)) return refuseKind(endpoint);
      return scopes !== undefined && endpoint.scope ? { state: "granted" } : known;
    },

    noteGranted: (endpoint) => {
      if (endpoint.auth !== "none") learn(endpoint, { state: "granted" }, true);
    },

    noteRefused: (endpoint, message) => {
      const cause = readCause(message);
      const isLacking = lackings.has(cause);
      const isDenied = isLasting(endpoint, cause, message);
      // One call that lacked something says nothing against the tool.
      if (isLacking && !isDenied && learned.get(endpoint.tool)?.state === "granted") return;
      const state = isDenied ? "denied" : "unknown";
      // Whoever lacks one of these has a project's key: a master key has none of them.
      learn(endpoint, { state, reason: message }, isLacking && endpoint.auth === "project");
    },

    setFacts: (next) => {
      if (JSON.stringify(facts) === JSON.stringify(next)) return;
      facts = next;
      onChange();
    },
  };
}

/** What a valid key may still lack. */
const lackings: ReadonlySet<Cause> = new Set(["scope_missing", "role_required", "plan_required"]);

/**
 * Whether this refusal will meet every call of the endpoint. Its own scope's will; another scope
 * was asked for by what this one call wanted to do besides. A role's or a plan's will only where
 * the entry always demands it, for one Pro field must not hide `create_link`.
 */
function isLasting({ scope, role, plan }: Endpoint, cause: Cause, message: string): boolean {
  switch (cause) {
    case "scope_missing": {
      const named = listNamedScopes(message);
      return named.length === 0 || named.some((name) => name === scope);
    }
    case "role_required":
      return role !== undefined;
    case "plan_required":
      return plan !== undefined;
    default:
      return false;
  }
}

function findUndeclared(
  { scope, auth }: Endpoint,
  scopes: readonly Scope[] | undefined,
): Reading | undefined {
  if (scopes === undefined) return undefined;
  // Who declares scopes speaks of a project's key: a master key has none.
  if (auth === "master") return { state: "denied", reason: messages.master_required };
  if (scope === undefined || hasScope({ scopes }, scope)) return undefined;
  const reason = `The operator's WAYPOST_SCOPES leave out ${scope}.`;
  return { state: "denied", reason, isDeclared: true };
}

function readFacts(endpoint: Endpoint, facts: KeyFacts): Reading {
  const refusal = findRefusal(endpoint, facts);
  if (refusal === undefined) return { state: "granted" };
  return { state: "denied", reason: refusal.message };
}

function refuseKind({ auth }: Endpoint): Reading {
  const reason = auth === "master" ? messages.master_required : messages.project_key_required;
  return { state: "denied", reason };
}
