import { findRefusal, hasScope, listNamedScopes, readCause } from "../../contract/access.ts";
import type { Cause, KeyFacts } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { messages } from "../../contract/messages.ts";
import type { Scope } from "../../contract/scopes-and-roles.ts";

/** What a key may do, endpoint by endpoint, as far as it is known by now. */

export type Reading =
  | { readonly state: "granted" }
  | {
      readonly state: "denied";
      readonly reason: string;
      /** The operator forbids it, and not the deployment. */
      readonly isDeclared?: true;
    }
  /** The reason is the last refusal, where other calls of the endpoint may succeed. */
  | { readonly state: "unknown"; readonly reason?: string };

export type Access = {
  /** `project` until more is known of the key. */
  readonly readKind: () => KeyFacts["kind"] | "none";
  readonly read: (endpoint: Endpoint) => Reading;
  /** An answered call shows that the key may do this. */
  readonly noteGranted: (endpoint: Endpoint) => void;
  /** A 401's message shows what the key may not do. */
  readonly noteRefused: (endpoint: Endpoint, message: string) => void;
  /** Takes over what the embedded service knows of the key. */
  readonly setFacts: (facts: KeyFacts) => void;
  /** Whether the embedded service has told everything, so that nothing needs to be probed. */
  readonly hasFacts: () => boolean;
};

export type AccessOptions = {
  readonly hasKey: boolean;
  /** What the operator declares goes before all that is learned. */
  readonly scopes: readonly Scope[] | undefined;
  readonly facts: KeyFacts | undefined;
  /** Called when more is known than before: tools may have to be listed or hidden. */
  readonly onChange: () => void;
};

export function createAccess({ hasKey, scopes, facts: given, onChange }: AccessOptions): Access {
  let facts = given;
  const learned = new Map<string, Reading>();
  /** The kinds of endpoint that the key has turned out to be made for. */
  const kinds = new Set<Endpoint["auth"]>();

  function learn({ tool, auth }: Endpoint, reading: Reading, showsKind: boolean): void {
    const isNew = learned.get(tool)?.state !== reading.state || (showsKind && !kinds.has(auth));
    if (showsKind) kinds.add(auth);
    learned.set(tool, reading);
    if (isNew) onChange();
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
      const undeclared = denyUndeclared(endpoint, scopes);
      if (undeclared !== undefined) return undeclared;
      if (facts !== undefined) return readFacts(endpoint, facts);
      const known = learned.get(endpoint.tool) ?? { state: "unknown" };
      if (known.state !== "unknown") return known;
      if (kinds.size === 1 && !kinds.has(endpoint.auth)) return denyOtherKind(endpoint);
      return scopes !== undefined && endpoint.scope ? { state: "granted" } : known;
    },

    noteGranted: (endpoint) => {
      if (endpoint.auth !== "none") learn(endpoint, { state: "granted" }, true);
    },

    noteRefused: (endpoint, message) => {
      const cause = readCause(message);
      const isLacking = rightsCauses.has(cause);
      const isDenied = refusesAll(endpoint, cause, message);
      // One call that lacked a right says nothing against the tool.
      if (isLacking && !isDenied && learned.get(endpoint.tool)?.state === "granted") return;
      const state = isDenied ? "denied" : "unknown";
      // A key that lacks one of these is a project's key: a master key needs none of them.
      learn(endpoint, { state, reason: message }, isLacking && endpoint.auth === "project");
    },

    setFacts: (next) => {
      if (JSON.stringify(facts) === JSON.stringify(next)) return;
      facts = next;
      onChange();
    },
  };
}

/** The rights that a valid key may lack. */
const rightsCauses: ReadonlySet<Cause> = new Set([
  "scope_missing",
  "role_required",
  "plan_required",
]);

/**
 * Whether every call of the endpoint will be refused like this. A missing scope counts if it is the
 * endpoint's own: another one was needed for what this one call did besides. A role or a plan
 * counts if the entry always demands one: a Pro field must not hide `create_link`.
 */
function refusesAll({ scope, role, plan }: Endpoint, cause: Cause, message: string): boolean {
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

function denyUndeclared(
  { scope, auth }: Endpoint,
  scopes: readonly Scope[] | undefined,
): Reading | undefined {
  if (scopes === undefined) return undefined;
  // Declared scopes mean that the key is a project's: a master key has none.
  if (auth === "master") return { state: "denied", reason: messages.master_required };
  if (scope === undefined || hasScope({ scopes }, scope)) return undefined;
  const reason = `The operator's WAYPOST_SCOPES leave out ${scope}.`;
  return { state: "denied", reason, isDeclared: true };
}

function readFacts(endpoint: Endpoint, facts: KeyFacts): Reading {
  const refusal = findRefusal(endpoint, facts);
  return refusal ? { state: "denied", reason: refusal.message } : { state: "granted" };
}

function denyOtherKind({ auth }: Endpoint): Reading {
  const reason = auth === "master" ? messages.master_required : messages.project_key_required;
  return { state: "denied", reason };
}
