import { findRefusal, hasScope, readCause, type Cause, type KeyFacts } from "../contract/access.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { messages } from "../contract/messages.ts";
import type { Scope } from "../contract/policy.ts";

/** What a key may do, endpoint by endpoint, as far as it is known by now. */

export type Reading = {
  readonly state: "granted" | "denied" | "unknown";
  readonly reason?: string;
};

export type KeyKind = "project" | "master" | "none";

export type Access = {
  /** `project` as long as nothing else is known of a key. */
  readonly readKind: () => KeyKind;
  readonly read: (endpoint: Endpoint) => Reading;
  /** What an answered call teaches: its key may do this. */
  readonly noteGranted: (endpoint: Endpoint) => void;
  /** What a 401 teaches. */
  readonly noteRefused: (endpoint: Endpoint, message: string) => void;
  /** Takes the embedded service's own knowledge of the key in place of what was learned. */
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
  let kind: "project" | "master" | undefined;
  const learned = new Map<string, Reading>();

  function learn(endpoint: Endpoint, reading: Reading): void {
    const before = learned.get(endpoint.tool);
    learned.set(endpoint.tool, reading);
    if (before?.state !== reading.state) onChange();
  }

  return {
    readKind: () => (hasKey ? (facts?.kind ?? kind ?? "project") : "none"),
    hasFacts: () => facts !== undefined,

    read: (endpoint) => {
      if (endpoint.auth === "none") return { state: "granted" };
      if (!hasKey) return { state: "denied", reason: messages.key_missing };
      const undeclared = findUndeclared(endpoint, scopes);
      if (undeclared !== undefined) return { state: "denied", reason: undeclared };
      const known = learned.get(endpoint.tool);
      if (known?.state === "denied") return known;
      if (facts !== undefined) return readFacts(endpoint, facts);
      if (kind !== undefined && kind !== endpoint.auth) return refuseKind(endpoint);
      if (known !== undefined) return known;
      return { state: scopes !== undefined && endpoint.scope ? "granted" : "unknown" };
    },

    noteGranted: (endpoint) => {
      if (endpoint.auth === "none") return;
      kind = endpoint.auth;
      learn(endpoint, { state: "granted" });
    },

    noteRefused: (endpoint, message) => {
      const cause = readCause(message);
      // Whoever lacks a scope, a role or a plan has a key of the right kind.
      if (/_required$|^scope_/.test(cause)) {
        kind = endpoint.auth === "master" ? "master" : "project";
      }
      if (isLasting(endpoint, cause, kind)) learn(endpoint, { state: "denied", reason: message });
    },

    setFacts: (next) => {
      if (JSON.stringify(facts) === JSON.stringify(next)) return;
      facts = next;
      learned.clear();
      onChange();
    },
  };
}

/**
 * Whether this refusal will meet every call of the endpoint. A scope's will; a role's or a
 * plan's only where the entry always demands it, for one Pro field must not hide `create_link`.
 */
function isLasting(endpoint: Endpoint, cause: Cause, kind: KeyKind | undefined): boolean {
  if (cause === "scope_missing") return true;
  if (cause === "role_required") return endpoint.role !== undefined;
  if (cause === "plan_required") return endpoint.plan !== undefined;
  // A key that is good for the other kind of endpoint is no invalid key.
  return cause === "key_invalid" && kind !== undefined && kind !== endpoint.auth;
}

function findUndeclared(
  { scope, auth }: Endpoint,
  scopes: readonly Scope[] | undefined,
): string | undefined {
  if (scopes === undefined) return undefined;
  // Who declares scopes speaks of a project's key: a master key has none.
  if (auth === "master") return messages.master_required;
  if (scope === undefined || hasScope({ scopes }, scope)) return undefined;
  return `The operator's WAYPOST_SCOPES leave out ${scope}.`;
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
